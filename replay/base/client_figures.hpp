// SPDX-License-Identifier: Apache-2.0
// Figures of one client of a target that has several. A client has a connection, an identity and a lease of its own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <tuple>
#include <vector>

namespace fsr {

// Counts times in 64 buckets, two for each power of two from 1 us. So ten thousand clients can have one each.
class CoarseTimes {
 public:
  void add(int64_t ns) { ++counts_[bucket(ns)]; }
  uint64_t count() const {
    uint64_t all = 0;
    for (uint32_t n : counts_) all += n;
    return all;
  }
  void subtract(const CoarseTimes& earlier) {
    for (unsigned i = 0; i < kBuckets; ++i) counts_[i] -= earlier.counts_[i];
  }
  using Counts = std::array<uint32_t, 64>;
  const Counts& counts() const { return counts_; }
  static CoarseTimes of(const Counts& counts) {
    CoarseTimes times;
    times.counts_ = counts;
    return times;
  }
  // Returns the upper end of the bucket below which the share `q` of the times lies, in ns. 0: there are no times.
  int64_t quantile(double q) const {
    const uint64_t all = count();
    uint64_t below = 0;
    for (unsigned i = 0; i < counts_.size() && all; ++i)
      if ((below += counts_[i]) >= uint64_t(double(all) * q + 0.999999)) return end(i);
    return 0;
  }

 private:
  static constexpr unsigned kBuckets = std::tuple_size_v<Counts>;
  static unsigned bucket(int64_t ns) {
    const uint64_t half = uint64_t(std::max<int64_t>(ns, 0)) >> 9;  // in units of about half a microsecond
    if (half < 2) return 0;
    const unsigned power = unsigned(std::bit_width(half)) - 1;
    return std::min(2 * (power - 1) + unsigned(half >> (power - 1) & 1), kBuckets - 1);
  }
  static int64_t end(unsigned bucket) {
    const unsigned power = bucket / 2 + 1;
    return int64_t(bucket % 2 ? uint64_t(2) << power : uint64_t(3) << (power - 1)) << 9;
  }

  Counts counts_{};
};

struct ClientFigures {
  int64_t set_up = 0;        // ns from the first byte until it could be used
  uint64_t reconnects = 0;   // connections after the first
  uint64_t lost_leases = 0;  // times that the server had forgotten it
  uint64_t failed = 0;       // operations that failed because its connection or lease was lost
  bool is_down = false;      // it could not be used at the end
  int64_t heard = 0;         // ns on the clock: last reply before the server forgot it; 0: it never did
  int64_t back = 0;          // ns on the clock: when it had its state again afterwards; 0: not yet
  CoarseTimes times;         // of its operations

  // Returns what happened after `earlier`.
  ClientFigures since(const ClientFigures& earlier) const {
    ClientFigures now = *this;
    now.reconnects -= earlier.reconnects;
    now.lost_leases -= earlier.lost_leases;
    now.failed -= earlier.failed;
    now.times.subtract(earlier.times);
    if (now.heard == earlier.heard) now.heard = now.back = 0;
    return now;
  }
};

// How several clients came back after their server restarted, or forgot them for another reason. Times are ns after the last
// reply before.
struct RestartFigures {
  uint64_t clients = 0;         // that the server had forgotten
  uint64_t back = 0;            // clients among these that have their state again
  int64_t first = 0, last = 0;  // until the first and the last of them had it
  int64_t old_rate = 0;         // until as many operations ended in a second as before; 0: not in this run

  void add(const RestartFigures& other) {
    if (!other.clients) return;
    first = !back ? other.first : !other.back ? first : std::min(first, other.first);
    last = std::max(last, other.last);
    old_rate = !clients ? other.old_rate : old_rate && other.old_rate ? std::max(old_rate, other.old_rate) : 0;
    clients += other.clients;
    back += other.back;
  }
};

// Operations that have ended, by time, so that a report can say when a rate was reached again.
class EndedOverTime {
 public:
  static constexpr int64_t kStep = 100'000'000;  // ns
  void begin(int64_t now) { begun_ = now; }
  void add(int64_t now) {
    const size_t step = size_t(std::max<int64_t>(now - begun_, 0) / kStep);
    if (ended_.size() <= step) ended_.resize(step + 1);
    ++ended_[step];
  }
  // Returns the time after `at` until nine tenths of the rate of the ten seconds before are reached, for a second. 0: never.
  int64_t until_old_rate(int64_t at) const {
    constexpr size_t kWindow = 10, kBefore = 100;  // steps
    const size_t middle = size_t(std::max<int64_t>(at - begun_, 0) / kStep);
    size_t first = middle - std::min(middle, kBefore);
    while (first < std::min(middle, ended_.size()) && !ended_[first]) ++first;  // before the run
    uint64_t before = 0;
    for (size_t i = first; i < std::min(middle, ended_.size()); ++i) before += ended_[i];
    for (size_t end = middle + 1 + kWindow; middle > first && end <= ended_.size(); ++end) {
      uint64_t sum = 0;
      for (size_t i = end - kWindow; i < end; ++i) sum += ended_[i];
      if (10 * sum * (middle - first) >= 9 * before * kWindow) return begun_ + int64_t(end) * kStep - at;
    }
    return 0;
  }

 private:
  int64_t begun_ = 0;
  std::vector<uint32_t> ended_;
};

// Returns how the clients came back after the latest time that the server had forgotten them.
inline RestartFigures restart_of(const std::vector<ClientFigures>& clients, const EndedOverTime& ended) {
  RestartFigures all;
  int64_t heard = 0;
  for (const ClientFigures& c : clients) heard = std::max(heard, c.heard);
  if (!heard) return all;
  for (const ClientFigures& c : clients) {
    if (!c.heard) continue;
    RestartFigures one{.clients = 1};
    if (c.back > heard) one.back = 1, one.first = one.last = c.back - heard;
    all.add(one);
  }
  all.old_rate = ended.until_old_rate(heard);
  return all;
}

}  // namespace fsr
