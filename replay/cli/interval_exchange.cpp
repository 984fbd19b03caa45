// SPDX-License-Identifier: Apache-2.0
#include "cli/interval_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"
#include "trace/bytes.hpp"

namespace fsr {

namespace {

// Incomplete intervals on the root: as many as a short run has, so that they take no more than some 80 MB. A rank that is alive
// but reports nothing is waited for as long.
constexpr size_t kMostOfRoot = 200;
// ns for which the first rank of a host waits for the others, two intervals at least. Later ones pass on their own.
constexpr int64_t kWaitOfHost = 1'000'000'000;
constexpr int64_t kPause = 10'000'000;  // ns of waiting for a message in finish(), after which what is held is sent again

int64_t now() { return MonotonicClock().now(); }

}  // namespace

IntervalExchange::IntervalExchange(Cluster& cluster, unsigned round, int64_t length, TimeSeries::Rows rows,
                                   RankInterval::Receiver receive, std::function<void(const std::string& line)> tell)
    : cluster_(cluster),
      round_(round),
      most_waiting_(cluster.root() ? kMostOfRoot : std::clamp<size_t>(size_t(kWaitOfHost / length), 2, kMostOfRoot)),
      receive_(std::move(receive)),
      tell_(std::move(tell)),
      merger_(cluster.size()),
      missing_(cluster.missing()),
      awaited_(cluster.size()),
      merged_{.series = TimeSeries(rows)} {
  gaps_.operations.resize(cluster.size());
  find_awaited();
}

void IntervalExchange::add(const Interval& interval, const SeriesInterval& series) {
  own_ = interval.number;
  if (interval.last) ended_to_ = cluster_.collector_of(cluster_.rank());
  take_in(RankInterval(cluster_.rank(), interval, series));
  move();
}

void IntervalExchange::move() {
  while (take_next(0)) {
  }
  look_for_missing();
  send_held();  // before others join what is held
  pass_on();
}

// Takes in the next message. False: none has arrived within `wait` ns.
bool IntervalExchange::take_next(int64_t wait) {
  const auto posted = cluster_.take(wait);
  if (!posted) return false;
  ByteReader in(posted->second);
  if (in.varint() != round_) return true;  // of an earlier round, whose gaps were told
  if (in.left() == 0)
    over_ = true;
  else
    take_in(RankInterval::load(in.text()));
  return true;
}

void IntervalExchange::take_in(RankInterval part) {
  if (cluster_.root())
    for (const RankInterval::Sender& sender : part.senders())
      if (sender.rank < gaps_.operations.size()) gaps_.operations[sender.rank] += sender.operations;
  const bool in_time = merger_.add(part);
  if (cluster_.root()) {
    if (in_time) return;
    gaps_.late += uint64_t(std::ranges::count(part.senders(), false, &RankInterval::Sender::end_only));
    merger_.carry(part);
  } else if (!in_time || part.ends_only()) {
    send(part);
  }
}

// Posts a part to the rank that collects it. Parts that can't be sent now are held, as one interval.
void IntervalExchange::send(const RankInterval& part) {
  if (held_.empty()) {
    held_ = part.save();
  } else {
    RankInterval sum = RankInterval::load(held_);
    sum.merge(part);
    held_ = sum.save();
  }
  send_held();
}

void IntervalExchange::send_held() {
  if (!held_.empty() && post(cluster_.collector_of(cluster_.rank()), held_)) held_ = {};
}

bool IntervalExchange::post(unsigned to, std::string_view text) {
  ByteWriter out;
  out.varint(round_);
  if (!text.empty()) out.text(text);
  return cluster_.post(to, out.view());
}

// True: this rank merges the intervals of `rank`. Other hosts are told apart first, because collector_of() looks through all
// ranks.
bool IntervalExchange::merges(unsigned rank) const {
  const unsigned own = cluster_.rank();
  if (rank == own) return true;
  if (cluster_.missing()[rank]) return false;
  return cluster_.root() || (cluster_.hosts()[rank] == cluster_.hosts()[own] && cluster_.collector_of(rank) == own);
}

void IntervalExchange::find_awaited() {
  for (unsigned rank = 0; rank < cluster_.size(); ++rank) awaited_[rank] = merges(rank);
}

void IntervalExchange::pass_on() {
  while (std::optional<RankInterval> one = merger_.next(awaited_, most_waiting_)) {
    if (cluster_.root())
      report_interval(std::move(*one));
    else if (!one->empty())
      send(*one);
  }
}

void IntervalExchange::report_interval(RankInterval interval) {
  if (interval.empty()) {
    const RankInterval* after = merger_.first_waiting();
    interval.cover(gaps_.intervals, reported_to_, after ? std::max(after->from(), reported_to_) : reported_to_);
  }
  bool whole = true;
  for (unsigned rank = 0; rank < cluster_.size(); ++rank) {
    if (interval.has(rank) || !merger_.should_have(rank, gaps_.intervals)) continue;
    gaps_.add(rank, interval.from(), interval.to());
    whole = false;
  }
  ++gaps_.intervals;
  gaps_.lacking += !whole;
  reported_to_ = interval.to();
  interval.report_interval(merged_, merger_.over(awaited_), receive_);
}

void IntervalExchange::look_for_missing() {
  const std::vector<bool>& missing = cluster_.missing();
  if (missing == missing_) return;
  const std::vector<bool> before = std::exchange(missing_, missing);
  find_awaited();
  for (unsigned rank = 0; cluster_.root() && rank < missing.size(); ++rank) {
    if (missing[rank] == before[rank]) continue;
    tell_(fmt::format("{} {}", cluster_.name_of(rank),
                      missing[rank] ? "does not answer: intervals go on without it" : "answers again"));
  }
}

// Passes on intervals until all ranks that are left have ended (on the root), or until the root says so.
void IntervalExchange::wait_for_others() {
  for (;;) {
    move();
    if (cluster_.root() ? merger_.over(awaited_) : over_) return;
    take_next(kPause);
    if (now() - beaten_ >= cluster_.heartbeat_interval()) {
      beaten_ = now();
      cluster_.send_heartbeat();
    }
    if (cluster_.root()) continue;
    cluster_.listen();
    // The rank that was told of this rank's end may be lost, so another one is told.
    if (const unsigned to = cluster_.collector_of(cluster_.rank()); to != ended_to_) {
      ended_to_ = to;
      send(RankInterval::end_of(cluster_.rank(), own_ ? own_ - 1 : 0));
    }
  }
}

// Tells the other ranks that the root needs no more of them. Parts that arrive now are in no interval any more.
void IntervalExchange::release_others() {
  std::vector<bool> told(cluster_.size());
  told[0] = true;
  for (bool all = false; !all;) {
    all = true;
    for (unsigned rank = 1; rank < cluster_.size(); ++rank) {
      if (!told[rank]) told[rank] = post(rank, "");
      all = all && (told[rank] || cluster_.missing()[rank]);
    }
    if (!all) cluster_.take(kPause);
  }
}

void IntervalExchange::finish() {
  const unsigned rank = cluster_.rank();
  if (!merger_.ended(rank)) {
    ended_to_ = cluster_.collector_of(rank);
    take_in(RankInterval::end_of(rank, own_ ? own_ - 1 : 0));
  }
  wait_for_others();
  if (!cluster_.root()) return;
  release_others();
  for (const RankInterval::Sender& sender : merger_.carried().senders()) gaps_.operations[sender.rank] -= sender.operations;
}

}  // namespace fsr
