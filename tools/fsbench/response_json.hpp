// SPDX-License-Identifier: Apache-2.0
// Response times for the JSON of a program, with the keys of fsreplay --json.
#pragma once

#include <nlohmann/json.hpp>

#include "measure/bound.hpp"
#include "util/histogram.hpp"

namespace fsr::fsbench {

// `open`: values of `ns` that are lower bounds.
inline nlohmann::json response_json(const Histogram& ns, const Histogram& open = {}) {
  return {{"mean_ns", ns.mean()},          {"p50_ns", ns.quantile(0.5)}, {"p99_ns", ns.quantile(0.99)},
          {"p999_ns", ns.quantile(0.999)}, {"max_ns", ns.max()},         {"lower_bounds", lower_bounds(ns, open)}};
}

}  // namespace fsr::fsbench
