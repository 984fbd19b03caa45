// SPDX-License-Identifier: Apache-2.0
#include "cluster/star_cluster.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "base/clock.hpp"
#include "trace/bytes.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr int64_t kBeat = 1'000'000'000;  // ns; longest time between heartbeats

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "?";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

StarCluster::StarCluster(std::unique_ptr<Transport> transport, int64_t timeout)
    : transport_(std::move(transport)),
      timeout_(timeout),
      inbox_(size()),
      gone_(size()),
      missing_(size()),
      last_message_(size()),
      hosts_(size(), "?") {
  std::string all;
  for (const std::string& host : gather(host_name())) all += host + "\n";
  hosts_ = lines_of(broadcast(all));
  hosts_.resize(size(), "?");
}

// Notes that a message was sent. `at`: time before sending, so that the receiver's wait can't have begun before `sent_`.
void StarCluster::note_sent(unsigned to, int64_t at) {
  if (!root() && to != 0) return;  // only the root gives ranks up
  if (at - sent_ > timeout_) paused_ = true;
  sent_ = at;
}

void StarCluster::send(unsigned to, char kind, std::string_view text) {
  const int64_t at = now();
  transport_->send(to, std::string(1, kind).append(text));
  note_sent(to, at);
}

bool StarCluster::offer(unsigned to, char kind, std::string_view text) {
  const int64_t at = now();
  if (!transport_->offer(to, std::string(1, kind).append(text))) return false;
  note_sent(to, at);
  return true;
}

std::vector<std::string> StarCluster::gather(std::string_view mine) {
  std::vector<std::string> all;
  if (!root()) {
    send(0, kData, mine);
    paused_ = false;  // a root that has given this rank up would not answer
    return all;
  }
  all.emplace_back(mine);
  for (unsigned rank = 1; rank < size(); ++rank) all.push_back(next_of(rank));
  return all;
}

Cluster::GatherResult StarCluster::gather_left(std::string_view mine) {
  GatherResult all;
  if (!root()) {
    send(0, kData, mine);
    return all;
  }
  const int64_t from = now();
  std::optional<LostRank> first;
  all.by_rank.emplace_back(mine);
  for (unsigned rank = 1; rank < size(); ++rank) {
    try {
      all.by_rank.emplace_back(wait_for(rank, from, 0));
    } catch (const LostRank& e) {
      all.by_rank.emplace_back();
      all.lost += (first ? ", " : "") + std::string(e.what());
      if (!first) first = e;
    }
  }
  if (first) report_lost(*first);
  return all;
}

std::string StarCluster::broadcast(std::string_view of_root) {
  if (!root()) return next_of(0);
  for (unsigned rank = 1; rank < size(); ++rank) send(rank, kData, of_root);
  return std::string(of_root);
}

bool StarCluster::post(unsigned to, std::string_view mine) {
  if (to != rank()) return offer(to, kPosted, mine);
  posted_.emplace_back(to, mine);
  return true;
}

std::optional<std::pair<unsigned, std::string>> StarCluster::take(int64_t wait) {
  const int64_t end = now() + wait;
  while (posted_.empty()) {
    std::optional<Transport::Message> message = receive(std::max<int64_t>(0, end - now()));
    if (!message) {
      if (root()) look_for_missing();  // now that all is read that arrived while this rank was busy
      return std::nullopt;
    }
    try {
      take_in(std::move(*message));
    } catch (const LostRank& e) {
      told_lost_ = e;
    }
  }
  std::pair<unsigned, std::string> first = std::move(posted_.front());
  posted_.pop_front();
  return first;
}

int64_t StarCluster::now() { return MonotonicClock().now(); }

void StarCluster::look_for_missing() {
  const int64_t t = now();
  if (t - looked_ < heartbeat_interval() / 4) return;
  looked_ = t;
  for (unsigned rank = 1; rank < size(); ++rank) missing_[rank] = gone_[rank] || t - last_message_[rank] > timeout_;
}

int64_t StarCluster::heartbeat_interval() const { return std::min(kBeat, timeout_ / 4); }

void StarCluster::send_heartbeat() {
  beaten_ = now();
  if (!root()) {
    offer(0, kAlive, "");
    return;
  }
  ByteWriter lost;
  for (unsigned rank = 1; rank < size(); ++rank)
    if (missing_[rank]) lost.varint(rank);
  // A missing rank gets the next one when it has received the last one, so that a dead one does not collect them.
  for (unsigned rank = 1; rank < size(); ++rank)
    if (!missing_[rank] || transport_->idle(rank)) offer(rank, kAlive, lost.view());
}

void StarCluster::listen() {
  if (root()) return;
  while (std::optional<Transport::Message> message = receive(0)) take_in(std::move(*message));
  if (told_lost_) throw *told_lost_;
  check(0, 0);
}

bool StarCluster::overdue() const { return !root() && (paused_ || now() - sent_ > timeout_); }

std::string StarCluster::next_of(unsigned rank, int64_t awake) {
  try {
    return wait_for(rank, now(), awake);
  } catch (const LostRank& e) {
    if (root()) report_lost(e);
    throw;
  }
}

std::string StarCluster::wait_for(unsigned rank, int64_t from, int64_t awake) {
  while (inbox_[rank].empty()) {
    if (told_lost_) throw *told_lost_;
    // Ends when the rank is given up, so that each of many lost ranks is not waited for in turn.
    const int64_t left = std::max(from, last_message_[rank]) + timeout_ + 1 - now();
    const int64_t timeout = gone_[rank] || now() - from < awake ? 0 : std::clamp<int64_t>(left, 0, heartbeat_interval());
    if (std::optional<Transport::Message> message = receive(timeout))
      take_in(std::move(*message));
    else if (timeout == 0)
      sched_yield();                                                // to other ranks that poll, if there are fewer processors
    if (now() - beaten_ >= heartbeat_interval()) send_heartbeat();  // another rank may be waiting for this one
    if (inbox_[rank].empty()) check(rank, from);
  }
  std::string text = std::move(inbox_[rank].front());
  inbox_[rank].pop_front();
  return text;
}

std::optional<Transport::Message> StarCluster::receive(int64_t timeout) {
  std::optional<Transport::Message> message = transport_->receive(timeout);
  if (message) last_message_[message->from] = now();
  return message;
}

void StarCluster::take_in(Transport::Message message) {
  if (message.gone) {
    gone_[message.from] = true;
  } else if (message.text.starts_with(kData)) {
    inbox_[message.from].push_back(message.text.substr(1));
  } else if (message.text.starts_with(kPosted)) {
    posted_.emplace_back(message.from, message.text.substr(1));
  } else if (message.text.starts_with(kLost)) {
    ByteReader in(std::string_view(message.text).substr(1));
    const unsigned lost = unsigned(in.varint());
    throw LostRank(lost, std::string(in.text()));
  } else if (message.text.starts_with(kAlive) && !root() && message.from == 0) {
    missing_.assign(size(), false);
    for (ByteReader in(std::string_view(message.text).substr(1)); in.left() != 0 && in.ok();)
      if (const uint64_t lost = in.varint(); lost < size()) missing_[lost] = true;
  }
}

void StarCluster::check(unsigned rank, int64_t from) {
  if (gone_[rank]) lose(rank, "has ended");
  if (now() - std::max(from, last_message_[rank]) > timeout_) lose(rank, "sent no heartbeat for " + format_duration(timeout_));
}

void StarCluster::lose(unsigned rank, const std::string& why) {
  const LostRank lost(rank, fmt::format("{} {}", name_of(rank), why));
  transport_->give_up(rank);
  throw lost;
}

void StarCluster::report_lost(const LostRank& lost) {
  ByteWriter text;
  text.varint(lost.rank);
  text.text(lost.what());
  for (unsigned other = 1; other < size(); ++other)
    if (other != lost.rank) send(other, kLost, text.view());
  offer(lost.rank, kLost, text.view());  // it may only have been stopped
}

}  // namespace fsr
