// SPDX-License-Identifier: Apache-2.0
#include "engine/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fsr {

constexpr int kSubBits = 6;  // 64 buckets for each doubling
constexpr size_t kBuckets = size_t(64 - kSubBits) << kSubBits;

static size_t bucket_of(uint64_t v) {
  if (v < (1u << kSubBits)) return v;
  int shift = 63 - std::countl_zero(v) - kSubBits;
  return (size_t(shift + 1) << kSubBits) + ((v >> shift) & ((1u << kSubBits) - 1));
}

static uint64_t low_edge(size_t bucket) {
  if (bucket < (1u << kSubBits)) return bucket;
  int shift = int(bucket >> kSubBits) - 1;
  return ((1ull << kSubBits) + (bucket & ((1u << kSubBits) - 1))) << shift;
}

void Histogram::add(int64_t ns) {
  if (buckets_.empty()) buckets_.resize(kBuckets);
  if (ns < 0) ns = 0;
  ++buckets_[bucket_of(uint64_t(ns))];
  min_ = count_ ? std::min(min_, ns) : ns;
  max_ = std::max(max_, ns);
  sum_ += double(ns);
  ++count_;
}

void Histogram::merge(const Histogram& other) {
  if (!other.count_) return;
  if (buckets_.empty()) buckets_.resize(kBuckets);
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  min_ = count_ ? std::min(min_, other.min_) : other.min_;
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

int64_t Histogram::quantile(double q) const {
  if (!count_) return 0;
  uint64_t wanted = uint64_t(std::ceil(q * double(count_)));
  wanted = std::clamp<uint64_t>(wanted, 1, count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return std::min<int64_t>(max_, int64_t(low_edge(i + 1) - 1));
  }
  return max_;
}

void Histogram::each_bucket(const std::function<void(int64_t, int64_t, uint64_t)>& visit) const {
  for (size_t i = 0; i < buckets_.size(); ++i)
    if (buckets_[i]) visit(int64_t(low_edge(i)), int64_t(low_edge(i + 1) - 1), buckets_[i]);
}

}  // namespace fsr
