// SPDX-License-Identifier: Apache-2.0
// Counts of times (ns) in log-linear buckets: exact below 64 ns, above that each bucket is at most 1.6 % wide.
//
// Not thread-safe: each worker fills its own, merged at the end. Memory is 30 KiB, taken at the first add().
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace fsr {

class Histogram {
 public:
  void add(int64_t ns);  // negative counts as 0
  void merge(const Histogram& other);

  uint64_t count() const { return count_; }
  int64_t min() const { return count_ ? min_ : 0; }
  int64_t max() const { return max_; }  // exact
  double mean() const { return count_ ? sum_ / double(count_) : 0; }
  double sum() const { return sum_; }
  // The value that the share `q` (0 .. 1) of all counts does not exceed: upper edge of its bucket, at most max(). 0 when empty.
  int64_t quantile(double q) const;
  // Buckets that hold something, in order: values from `low` up to and including `high`.
  void each_bucket(const std::function<void(int64_t low, int64_t high, uint64_t count)>& visit) const;

 private:
  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  double sum_ = 0;
  int64_t min_ = 0, max_ = 0;
};

}  // namespace fsr
