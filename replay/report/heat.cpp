// SPDX-License-Identifier: Apache-2.0
#include "report/heat.hpp"

#include <algorithm>

namespace fsr {

namespace {

void add_counts(HeatMap::Counts& into, const HeatMap::Counts& from) {
  for (unsigned bucket = 0; bucket < Heat::kBuckets; ++bucket) into[bucket] += from[bucket];
}

void merge(Heat::Stretch& into, const Heat::Stretch& from) {
  into.to = std::max(into.to, from.to);
  add_counts(into.service, from.service);
  add_counts(into.response, from.response);
  add_counts(into.recorded, from.recorded);
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
  HeatMap::count(counts.service, one.service);
  HeatMap::count(counts.response, one.response);
  HeatMap::count(counts.recorded, one.recorded);
  if (stretches_.empty() || stretches_.back().from / length_ != from / length_)
    stretches_.push_back(one);
  else
    merge(stretches_.back(), one);
}

}  // namespace fsr
