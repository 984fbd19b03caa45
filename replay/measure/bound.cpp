// SPDX-License-Identifier: Apache-2.0
#include "measure/bound.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "util/units.hpp"

namespace fsr {

namespace {

uint64_t up_to(const Histogram& h, int64_t limit) {
  uint64_t n = 0;
  h.each_bucket([&](int64_t low, int64_t, uint64_t count) { n += low <= limit ? count : 0; });
  return n;
}

}  // namespace

bool is_lower_bound(const Histogram& all, const Histogram& open, double q) {
  if (!open.count()) return false;
  const int64_t value = all.quantile(q), near = value + value / 32;
  const auto wanted = std::max<uint64_t>(1, uint64_t(std::ceil(q * double(all.count()))));
  // The quantile is known if enough answered values lie up to it, however large the open ones become.
  return up_to(all, near) - up_to(open, near) < wanted;
}

bool is_lower_bound_of_mean(const Histogram& all, const Histogram& open) { return open.sum() > all.sum() / 32; }

std::vector<std::string> lower_bounds(const Histogram& all, const Histogram& open) {
  std::vector<std::string> names;
  if (!open.count()) return names;
  if (is_lower_bound_of_mean(all, open)) names.push_back("mean_ns");
  for (const auto& [name, q] :
       {std::pair("p50_ns", 0.5), {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999}, {"p9999_ns", 0.9999}, {"max_ns", 1.0}})
    if (is_lower_bound(all, open, q)) names.push_back(name);
  return names;
}

std::string quantile_text(const Histogram& all, const Histogram& open, double q) {
  return (is_lower_bound(all, open, q) ? "> " : "") + format_duration(all.quantile(q));
}

std::string mean_text(const Histogram& all, const Histogram& open) {
  return (is_lower_bound_of_mean(all, open) ? "> " : "") + format_duration(int64_t(all.mean()));
}

}  // namespace fsr
