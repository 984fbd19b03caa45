// SPDX-License-Identifier: Apache-2.0
#include "inputs/model/model_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "util/units.hpp"

namespace fsr {

// Share by which the number of operations may differ from the wanted one.
static constexpr double kDeviation = 0.02;

std::string ModelSection::text() const {
  std::string text = fmt::format(
      "model      {} operations of {:g} runs at once, seed {}; wanted {}; {} files closed or unlocked at the end of "
      "processes, {} steps left out\n",
      format_count(counts.operations), load, seed, format_count(counts.wanted), format_count(counts.closed),
      format_count(counts.left_out));
  return text;
}

void ModelSection::facts(Facts& of_run) const { of_run.emplace_back("seed", int64_t(seed)); }

void ModelSection::json(nlohmann::json& document) const {
  document["model"] = {{"seed", seed},
                       {"runs_at_once", load},
                       {"operations", counts.operations},
                       {"wanted", counts.wanted},
                       {"closed", counts.closed},
                       {"left_out", counts.left_out}};
}

std::vector<std::string> ModelSection::reasons() const {
  std::vector<std::string> reasons;
  const double off = std::abs(double(counts.operations) - double(counts.wanted));
  if (off > std::max(10.0, double(counts.wanted) * kDeviation))
    reasons.push_back(
        fmt::format("the model made {} operations, not {}", format_count(counts.operations), format_count(counts.wanted)));
  if (counts.left_out_share() > kMostLeftOut)
    reasons.push_back(
        fmt::format("the model left out {:.0f} % of its steps: {}", counts.left_out_share() * 100, left_out_text(counts)));
  return reasons;
}

}  // namespace fsr
