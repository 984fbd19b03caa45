// SPDX-License-Identifier: Apache-2.0
#include "inputs/mix/mix_options.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "util/command.hpp"
#include "util/units.hpp"

namespace fsr {

static Arrival parse_arrival(const std::string& text) {
  if (text == "exponential") return Arrival::exponential;
  if (text == "uniform") return Arrival::uniform;
  if (text == "deterministic") return Arrival::deterministic;
  throw std::invalid_argument("expected exponential, uniform or deterministic");
}

void declare_mix_options(Command& group, MixOptions& to) {
  group.add_with("--load", to.loads, parse_loads, "make N/s, max or a ramp 100-2000,100 (default max)").stands_for("RATE");
  group.add("--streams", to.streams, "run N streams of calls (default 8)").stands_for("N").within(1, 1'000'000);
  group.add("--directories", to.directories, "let the streams share N directories").stands_for("N").within(1, 100'000);
  group.add("--calls", to.calls, "stop after N calls in total").stands_for("N").within(1, INT64_MAX);
  group.add_with("--arrival", to.arrival, parse_arrival, "space calls: exponential, uniform, deterministic")
      .stands_for("GAPS")
      .often({"exponential", "uniform", "deterministic"});
  group.add("--seed", to.seed, "seed the random numbers (default 1)");
  group.add("--sizes", to.sizes, "size files as nhfsstone, sfs or a trace").stands_for("WHICH").often({"nhfsstone", "sfs"});
  group.add_with("--working-set", to.working_set, parse_size, "make files of at least SIZE together").stands_for("SIZE");
  group.add("--nfs-version", to.nfs_version, "take this version from a file of several: 2, 3, 4").stands_for("N").within(2, 4);
  group.add("--since", to.since, "subtract an earlier snapshot of the counters").stands_for("FILE");
  group.flag("--compat", to.compat, "round to whole percents, as the original nhfsstone");
  group.add("--svg", to.svg, "draw load against response into this file").stands_for("FILE");
}

std::vector<double> parse_loads(std::string_view text) {
  constexpr const char* kExpected = "expected max, calls a second such as 2000 or 2k/s, or a ramp such as 100-2000,100";
  constexpr size_t kMostSteps = 1000;
  if (text == "max") return {};
  const size_t dash = text.find('-'), comma = text.find(',');
  if (dash == text.npos && comma == text.npos) return {parse_rate(text)};
  if (dash == 0 || dash == text.npos || comma == text.npos || comma < dash)
    throw std::invalid_argument(fmt::format("'{}': {}", escape_text(text), kExpected));
  const double from = parse_rate(text.substr(0, dash)), to = parse_rate(text.substr(dash + 1, comma - dash - 1)),
               step = parse_rate(text.substr(comma + 1));
  if (to < from)
    throw std::invalid_argument(fmt::format("'{}': expected a ramp that ends at or above its start", escape_text(text)));
  if ((to - from) / step >= double(kMostSteps))
    throw std::invalid_argument(fmt::format("'{}': expected a ramp of at most {} steps", escape_text(text), kMostSteps));
  std::vector<double> loads;
  // Multiply instead of adding up, and allow for rounding, because 0.1 is no binary fraction.
  for (size_t i = 0; from + step * double(i) <= to * (1 + 1e-9); ++i) loads.push_back(from + step * double(i));
  return loads;
}

}  // namespace fsr
