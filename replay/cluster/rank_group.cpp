// SPDX-License-Identifier: Apache-2.0
#include "cluster/rank_group.hpp"

#include <fmt/format.h>
#include <time.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "measure/stood_still.hpp"
#include "trace/bytes.hpp"

namespace fsr {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int64_t kLead = 100'000'000;    // ns from the moment at which all ranks are ready to their common start
constexpr milliseconds kLookForStop(50);  // interval of checks for a stop signal while waiting for other ranks

void sleep_until(int64_t moment) {
  const timespec at = {.tv_sec = time_t(moment / 1'000'000'000), .tv_nsec = long(moment % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

}  // namespace

void RankGroup::heartbeat() {
  if (!several()) return;
  const int64_t now = MonotonicClock().now();
  if (now < alive_at_ + cluster_.heartbeat_interval()) return;
  alive_at_ = now;
  cluster_.send_heartbeat();
}

void RankGroup::work(const std::function<void()>& act) { watch(act, nullptr); }

void RankGroup::work_with_barriers(const std::function<void()>& act) {
  const ExchangeCallbacks nothing = {.answer = [](const auto&) { return std::string(); }, .receive = [](const std::string&) {}};
  watch(act, &nothing);
}

void RankGroup::work_with_exchange(const std::function<void()>& act, const ExchangeCallbacks& callbacks) {
  watch(act, &callbacks);
}

void RankGroup::watch(const std::function<void()>& act, const ExchangeCallbacks* callbacks) {
  if (!several()) return act();
  done_ = false;
  asked_ = held_ = 0;
  reports_.clear();
  offset_ = cluster_.compare_clocks();
  start_ = common_start(cluster_, offset_, kLead);
  sleep_until(start_);
  std::exception_ptr failure;
  std::thread worker([&] {
    try {
      act();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    change_.notify_all();
  });
  try {
    stay_alive(callbacks);
  } catch (const LostRank& e) {
    const std::lock_guard lock(mutex_);
    lost_ = e.what();
    change_.notify_all();
    if (callbacks && callbacks->lost) callbacks->lost();
  }
  worker.join();
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const LostRank&) {
    throw;
  } catch (const std::exception& e) {
    // The root learns only that this rank has ended.
    if (!cluster_.root())
      fmt::print(stderr, "{}: {}: {}\n", program_invocation_short_name, cluster_.name_of(cluster_.rank()), e.what());
    throw;
  }
}

// Sends heartbeats and, with `callbacks`, exchanges reports. Returns when the work is done: without `callbacks` on this rank,
// with it on all ranks. Throws LostRank if another rank is lost.
void RankGroup::stay_alive(const ExchangeCallbacks* callbacks) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool called =
        change_.wait_for(lock, nanoseconds(cluster_.heartbeat_interval()), [&] { return done_ || asked_ > held_; });
    if (done_ && !callbacks) return;
    const bool busy = !done_;
    const uint64_t asked = asked_;
    const std::string reports = called ? std::exchange(reports_, {}) : "";
    lock.unlock();
    const bool others = !called || hold(*callbacks, busy, reports);
    if (!called) cluster_.send_heartbeat();
    lock.lock();
    if (!others) return;
    if (called) held_ = asked;
    change_.notify_all();
  }
}

// Exchanges the reports of all ranks for the root's answer. `busy`: the work of this rank is not done. True: the work of at least
// one rank is not done.
bool RankGroup::hold(const ExchangeCallbacks& callbacks, bool busy, const std::string& reports) {
  std::vector<std::string> all = cluster_.gather((busy ? "b" : "d") + reports);
  std::string answer = "d";
  for (std::string& one : all) {
    if (one.starts_with('b')) answer = "b";
    one.erase(0, 1);
  }
  if (cluster_.root()) answer += callbacks.answer(all);
  answer = cluster_.broadcast(answer);
  callbacks.receive(answer.substr(1));
  return answer.starts_with('b');
}

void RankGroup::report_to_root(std::string_view text, bool now) {
  const std::lock_guard lock(mutex_);
  reports_ += text;
  if (!now) return;
  ++asked_;
  change_.notify_all();
}

std::string RankGroup::barrier() {
  if (!several()) return "";
  std::unique_lock lock(mutex_);
  const uint64_t own = ++asked_;
  change_.notify_all();
  while (held_ < own && lost_.empty() && stop_.load() == 0) change_.wait_for(lock, kLookForStop);
  return stop_.load() ? "interrupted" : lost_;
}

std::string RankGroup::lost_line(size_t left) const {
  return fmt::format("{}; files of this rank were not removed; results are those of {} of {} ranks", lost_, left,
                     cluster_.size());
}

std::vector<std::optional<std::string>> RankGroup::gather_saved(std::string mine) {
  if (lost_.empty()) {
    ByteWriter out;
    out.text(cluster_.root() ? "" : taken_stood_still());
    out.text(mine);
    Cluster::GatherResult all = cluster_.gather_left(std::string(out.view()));
    lost_ = all.lost;
    for (unsigned rank = 0; rank < all.by_rank.size(); ++rank) {
      std::optional<std::string>& one = all.by_rank[rank];
      if (!one) continue;
      ByteReader in(*one);
      const std::string stood(in.text());
      if (rank != 0) stood_still_of_rank(stood, cluster_.name_of(rank));
      one = std::string(in.text());
    }
    return std::move(all.by_rank);
  }
  std::vector<std::optional<std::string>> only_mine;
  if (cluster_.root()) {
    only_mine.resize(cluster_.size());
    only_mine[0] = std::move(mine);
  }
  return only_mine;
}

}  // namespace fsr
