// SPDX-License-Identifier: Apache-2.0
#include "ranks.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <thread>

#include "base/clock.hpp"
#include "util/units.hpp"

namespace fsr::fsbench {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int64_t kLead = 100'000'000;    // ns from when all have met to their common start
constexpr milliseconds kLookForStop(50);  // while others are waited for

void sleep_until(int64_t moment) {
  const timespec at = {.tv_sec = time_t(moment / 1'000'000'000), .tv_nsec = long(moment % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

const RunRow* find_rate(const std::vector<RunRow>& rates, const std::string& name) {
  const auto found = std::find_if(rates.begin(), rates.end(), [&](const RunRow& rate) { return rate.name == name; });
  return found == rates.end() ? nullptr : &*found;
}

}  // namespace

nlohmann::json json_of(const std::vector<RunRow>& rates) {
  nlohmann::json rows = nlohmann::json::array();
  for (const RunRow& rate : rates) rows.push_back({{"name", rate.name}, {"unit", rate.unit}, {"rate", rate.rate}});
  return rows;
}

void add_rank_options(Command& command, ClusterOptions& options) {
  command.add("--ranks", options.ranks, "this many processes (default 1)").within(1, 4096).stands_for("N");
  command
      .add_with("--patience", options.patience, parse_duration,
                "a rank that gives no sign of life for this long is lost (default 60s)")
      .stands_for("TIME");
}

void Ranks::sign_of_life() {
  if (!several()) return;
  const int64_t now = MonotonicClock().now();
  if (now < alive_at_ + cluster_.beat()) return;
  alive_at_ = now;
  cluster_.alive();
}

void Ranks::work(const std::function<void()>& act) { watch(act, false); }

void Ranks::work_and_meet(const std::function<void()>& act) { watch(act, true); }

void Ranks::watch(const std::function<void()>& act, bool meets) {
  if (!several()) return act();
  done_ = false;
  asked_ = held_ = 0;
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
    stay_alive(meets);
  } catch (const LostRank& e) {
    const std::lock_guard lock(mutex_);
    lost_ = e.what();
    change_.notify_all();
  }
  worker.join();
  if (failure) std::rethrow_exception(failure);
}

void Ranks::stay_alive(bool meets) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool called = change_.wait_for(lock, nanoseconds(cluster_.beat()), [&] { return done_ || asked_ > held_; });
    if (done_ && !meets) return;
    const bool busy = !done_;
    const uint64_t asked = asked_;
    lock.unlock();
    const bool others = !called || cluster_.any(busy);
    if (!called) cluster_.alive();
    lock.lock();
    if (!others) return;
    if (called) held_ = asked;
    change_.notify_all();
  }
}

std::string Ranks::meet() {
  if (!several()) return "";
  std::unique_lock lock(mutex_);
  const uint64_t own = ++asked_;
  change_.notify_all();
  while (held_ < own && lost_.empty() && stop_.load() == 0) change_.wait_for(lock, kLookForStop);
  return stop_.load() ? "interrupted" : lost_;
}

std::string Ranks::lost_line(size_t left) const {
  return fmt::format("{}, and left its files: these are the results of {} of {} ranks", lost_, left, cluster_.size());
}

std::vector<std::optional<std::string>> Ranks::gather_saved(std::string mine) {
  if (lost_.empty()) {
    Cluster::Gathered all = cluster_.collect_left(mine);
    lost_ = all.lost;
    return std::move(all.by_rank);
  }
  std::vector<std::optional<std::string>> only_mine;
  if (cluster_.root()) {
    only_mine.resize(cluster_.size());
    only_mine[0] = std::move(mine);
  }
  return only_mine;
}

std::string rank_table(const std::vector<RankRow>& rows) {
  if (rows.size() < 2) return "";
  std::vector<RunRow> columns;  // of all ranks, in order
  size_t host_width = 4;
  for (const RankRow& row : rows) {
    host_width = std::max(host_width, row.host.size());
    for (const RunRow& rate : row.rates)
      if (!find_rate(columns, rate.name)) columns.push_back(rate);
  }
  std::string names = fmt::format("rank  {:<{}}  seconds", "host", host_width);
  std::string units = fmt::format("{:<{}}", "", names.size());
  std::string lines;
  auto width = [](const RunRow& column) { return std::max<size_t>({column.name.size(), column.unit.size(), 9}); };
  for (const RunRow& column : columns) {
    names += fmt::format("  {:>{}}", column.name, width(column));
    units += fmt::format("  {:>{}}", column.unit, width(column));
  }
  for (const RankRow& row : rows) {
    lines += fmt::format("{:>4}  {:<{}}  {:>7.3f}", row.rank, row.host, host_width, row.seconds);
    for (const RunRow& column : columns) {
      const RunRow* rate = find_rate(row.rates, column.name);
      lines += fmt::format("  {:>{}}", rate ? fmt::format("{:.1f}", rate->rate) : "-", width(column));
    }
    lines += '\n';
  }
  return names + '\n' + units + '\n' + lines;
}

void add_ranks(nlohmann::json& document, const std::vector<RankRow>& rows) {
  if (rows.size() < 2) return;
  nlohmann::json& ranks = document["ranks"] = nlohmann::json::array();
  for (const RankRow& row : rows)
    ranks.push_back({{"rank", row.rank}, {"host", row.host}, {"seconds", row.seconds}, {"rows", json_of(row.rates)}});
}

}  // namespace fsr::fsbench
