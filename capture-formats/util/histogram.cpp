// SPDX-License-Identifier: Apache-2.0
#include "histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "trace/bytes.hpp"

namespace fsr {

constexpr int kSubBits = 6;   // 64 buckets for each doubling
constexpr size_t kStep = 16;  // by how many buckets the range grows at least
constexpr size_t kMostFew = 32;
constexpr int kCountBits = 48;  // of a count beside its bucket's number
constexpr uint64_t kCountMask = (uint64_t(1) << kCountBits) - 1;

static size_t bucket_of(uint64_t v) {
  if (v < (1u << kSubBits)) return v;
  const auto shift = size_t(std::bit_width(v)) - kSubBits - 1;
  return (shift << kSubBits) + (v >> shift);
}

static uint64_t low_edge(size_t bucket) {
  if (bucket < (1u << kSubBits)) return bucket;
  int shift = int(bucket >> kSubBits) - 1;
  return ((1ull << kSubBits) + (bucket & ((1u << kSubBits) - 1))) << shift;
}

void Histogram::cover(size_t bucket) {
  const size_t low = bucket - bucket % kStep, end = low + kStep;
  if (buckets_.empty()) first_ = low;
  if (low < first_) {
    buckets_.insert(buckets_.begin(), first_ - low, 0);
    first_ = low;
  }
  if (end > first_ + buckets_.size()) buckets_.resize(end - first_);
}

// Gives each bucket of the range its place.
void Histogram::spread() {
  const std::vector<uint64_t> few = std::move(buckets_);
  buckets_.clear();
  first_ = 0;
  for (uint64_t entry : few) put(entry >> kCountBits, entry & kCountMask);
}

void Histogram::put(size_t bucket, uint64_t times) {
  if (few()) {
    const auto at = std::lower_bound(buckets_.begin(), buckets_.end(), uint64_t(bucket) << kCountBits);
    const bool there = at != buckets_.end() && *at >> kCountBits == bucket;
    const uint64_t count = times + (there ? *at & kCountMask : 0);
    if (count >= times && count <= kCountMask && (there || buckets_.size() < kMostFew)) {
      const uint64_t entry = uint64_t(bucket) << kCountBits | count;
      first_ = kFew + size_t(at - buckets_.begin());
      if (there)
        *at = entry;
      else
        buckets_.insert(at, entry);
      return;
    }
    spread();
  }
  cover(bucket);
  buckets_[bucket - first_] += times;
}

template <class Visit>
void Histogram::each(Visit visit) const {
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const uint64_t entry = buckets_[i];
    if (few() ? !visit(size_t(entry >> kCountBits), entry & kCountMask) : entry && !visit(first_ + i, entry)) return;
  }
}

void Histogram::add(int64_t value, uint64_t times) {
  if (times == 0) return;
  add(value);
  put(bucket_of(uint64_t(std::max<int64_t>(value, 0))), times - 1);
  sum_ += double(std::max<int64_t>(value, 0)) * double(times - 1);
  count_ += times - 1;
}

void Histogram::add(int64_t value) {
  value = std::max<int64_t>(value, 0);
  const bool any = count_++;
  min_ = any ? std::min(min_, value) : value;
  max_ = std::max(max_, value);
  sum_ += double(value);
  const size_t bucket = bucket_of(uint64_t(value));
  if (!few()) {
    if (bucket - first_ < buckets_.size()) {
      ++buckets_[bucket - first_];
      return;
    }
  } else if (any && count_ < kCountMask) {
    // The bucket is often the one that counted last.
    if (uint64_t& last = buckets_[first_ - kFew]; last >> kCountBits == bucket) {
      ++last;
      return;
    }
  }
  put(bucket, 1);
}

void Histogram::merge(const Histogram& other) {
  if (!other.count_) return;
  if (!count_ && other.few()) {
    *this = other;
    return;
  }
  other.each([this](size_t bucket, uint64_t times) {
    put(bucket, times);
    return true;
  });
  min_ = count_ ? std::min(min_, other.min_) : other.min_;
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

size_t Histogram::bucket_at(double q) const {
  uint64_t wanted = uint64_t(std::ceil(q * double(count_)));
  wanted = std::clamp<uint64_t>(wanted, 1, count_);
  uint64_t seen = 0;
  size_t at = 0;
  each([&](size_t bucket, uint64_t times) {
    at = bucket;
    return (seen += times) < wanted;
  });
  return at;
}

int64_t Histogram::quantile(double q) const {
  return count_ ? std::min<int64_t>(max_, int64_t(low_edge(bucket_at(q) + 1) - 1)) : 0;
}

int64_t Histogram::quantile_low(double q) const { return count_ ? std::max<int64_t>(min_, int64_t(low_edge(bucket_at(q)))) : 0; }

void Histogram::save(ByteWriter& out) const {
  out.varint(count_);
  if (!count_) return;
  if (few()) {
    Histogram whole = *this;
    whole.spread();
    return whole.save_buckets(out);
  }
  save_buckets(out);
}

void Histogram::save_buckets(ByteWriter& out) const {
  out.u64(std::bit_cast<uint64_t>(sum_));
  out.varint(uint64_t(min_));
  out.varint(uint64_t(max_));
  out.varint(first_);
  out.varint(buckets_.size());
  for (uint64_t n : buckets_) out.varint(n);
}

Histogram Histogram::load(ByteReader& in) {
  Histogram h;
  h.count_ = in.varint();
  if (!h.count_) return h;
  h.sum_ = std::bit_cast<double>(in.u64());
  h.min_ = int64_t(in.varint());
  h.max_ = int64_t(in.varint());
  h.first_ = in.varint();
  const uint64_t buckets = in.varint(), most = bucket_of(INT64_MAX) + kStep;
  uint64_t total = 0;
  // Each bucket takes a byte at least.
  if (buckets > in.left() || h.first_ > most || h.first_ + buckets > most) in.fail();
  for (uint64_t i = 0; in.ok() && i < buckets; ++i) total += h.buckets_.emplace_back(in.varint());
  if (total != h.count_) in.fail();
  return in.ok() ? h : Histogram();
}

void Histogram::each_bucket(const std::function<void(int64_t, int64_t, uint64_t)>& visit) const {
  each([&](size_t bucket, uint64_t times) {
    visit(int64_t(low_edge(bucket)), int64_t(low_edge(bucket + 1) - 1), times);
    return true;
  });
}

}  // namespace fsr
