// SPDX-License-Identifier: Apache-2.0
// Figures of one client of a target that has several. A client has a connection, an identity and a lease of its own.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <tuple>

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

}  // namespace fsr
