// SPDX-License-Identifier: Apache-2.0
#include "report/heat.hpp"

#include <algorithm>

namespace fsr {

namespace {

void add_counts(Heat::Stretch::Counts& into, const Heat::Stretch::Counts& from) {
  for (unsigned bucket = 0; bucket < Heat::kBuckets; ++bucket) into[bucket] += from[bucket];
}

void merge(Heat::Stretch& into, const Heat::Stretch& from) {
  into.to = std::max(into.to, from.to);
  add_counts(into.service, from.service);
  add_counts(into.response, from.response);
  add_counts(into.recorded, from.recorded);
}

void count(Heat::Stretch::Counts& counts, const Histogram& times) {
  // A bucket of the histogram is at most 1.6 % wide, so that its middle is nearly each of its values.
  times.each_bucket(
      [&](int64_t low, int64_t high, uint64_t n) { counts[size_t(HeatMap::bucket_of(low + (high - low) / 2))] += n; });
}

}  // namespace

void Heat::halve() {
  length_ *= 2;
  std::vector<Stretch> halved;
  for (const Stretch& stretch : stretches_) {
    if (halved.empty() || stretch.from / length_ != halved.back().from / length_)
      halved.push_back(stretch);
    else
      merge(halved.back(), stretch);
  }
  stretches_ = std::move(halved);
}

void Heat::add(int64_t from, int64_t to, const KindCounters& counts) {
  if (length_ == 0) length_ = std::max<int64_t>(to - from, 1);
  while (from / length_ >= int64_t(kStretches)) halve();
  Stretch one{.from = from, .to = to};
  count(one.service, counts.service);
  count(one.response, counts.response);
  count(one.recorded, counts.recorded);
  if (stretches_.empty() || stretches_.back().from / length_ != from / length_)
    stretches_.push_back(one);
  else
    merge(stretches_.back(), one);
}

}  // namespace fsr
