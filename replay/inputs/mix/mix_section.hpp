// SPDX-License-Identifier: Apache-2.0
// Section of the report on a mix: its shares as requested, as issued and on the wire, and the curve of a ramp of loads.
#pragma once

#include <memory>
#include <vector>

#include "inputs/mix/curve.hpp"
#include "report/section.hpp"
#include "workloads/mix_result.hpp"

namespace fsr {

class MixSection final : public ReportSection {
 public:
  // More points may be added to `curve` while this object exists.
  MixSection(MixResult mix, uint64_t seed, std::shared_ptr<const std::vector<CurvePoint>> curve)
      : mix_(std::move(mix)), seed_(seed), curve_(std::move(curve)) {}

  std::string heading() const override;
  std::string text() const override;
  void facts(Facts& of_run) const override;
  void json(nlohmann::json& document) const override;
  void database(ResultsDatabase& results) const override;
  std::vector<std::string> reasons() const override;

 private:
  const MixResult mix_;
  const uint64_t seed_;
  const std::shared_ptr<const std::vector<CurvePoint>> curve_;
};

}  // namespace fsr
