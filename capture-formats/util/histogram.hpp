// SPDX-License-Identifier: Apache-2.0
// Counts of times (ns), sizes or other values in log-linear buckets: exact below 64, above that each bucket is at most 1.6 %
// wide.
//
// Not thread-safe: each worker fills its own, merged at the end. Up to 32 buckets that hold something take 8 bytes each. With
// more, memory follows the range of the values, 512 bytes for each doubling between the smallest and the largest, 30 KiB at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace fsr {

class ByteReader;
class ByteWriter;

class Histogram {
 public:
  void add(int64_t value);  // negative counts as 0
  void add(int64_t value, uint64_t times);
  void merge(const Histogram& other);

  uint64_t count() const { return count_; }
  int64_t min() const { return count_ ? min_ : 0; }
  int64_t max() const { return max_; }  // exact
  double mean() const { return count_ ? sum_ / double(count_) : 0; }
  double sum() const { return sum_; }
  // The value that the share `q` (0 .. 1) of all counts does not exceed: upper edge of its bucket, at most max(). 0 when empty.
  int64_t quantile(double q) const;
  // Returns the lower edge of the bucket of quantile(q), at least min(). It is exact for values of up to seven binary digits, as
  // sizes mostly are.
  int64_t quantile_low(double q) const;
  // Buckets that hold something, in order: values from `low` up to and including `high`.
  void each_bucket(const std::function<void(int64_t low, int64_t high, uint64_t count)>& visit) const;

  // Passes counts to another process of the same program. load() fails the reader for bytes that save() did not write.
  void save(ByteWriter& out) const;
  static Histogram load(ByteReader& in);

 private:
  static constexpr size_t kFew = size_t(1) << 62;

  bool few() const { return first_ >= kFew; }
  void put(size_t bucket, uint64_t times);
  void spread();
  void save_buckets(ByteWriter& out) const;
  void cover(size_t bucket);
  // Visits (bucket, count), in order, until visit() returns false.
  template <class Visit>
  void each(Visit visit) const;
  size_t bucket_at(double q) const;  // there is one

  // Counts from bucket first_ on. kFew and more: only buckets that hold something, in order; the number of the bucket stands
  // above the count. The entry first_ - kFew counted last.
  std::vector<uint64_t> buckets_;
  size_t first_ = kFew;
  uint64_t count_ = 0;
  double sum_ = 0;
  int64_t min_ = 0, max_ = 0;
};

}  // namespace fsr
