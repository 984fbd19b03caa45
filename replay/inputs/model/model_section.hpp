// SPDX-License-Identifier: Apache-2.0
// Section of the report on a model: how many operations were made up, and what could not be.
#pragma once

#include "model/model_source.hpp"
#include "report/section.hpp"

namespace fsr {

class ModelSection final : public ReportSection {
 public:
  ModelCounts counts;
  uint64_t seed = 1;
  double load = 1;  // multiple of the processes
  std::string text() const override;
  void facts(Facts& of_run) const override;
  void json(nlohmann::json& document) const override;
  std::vector<std::string> reasons() const override;
};

}  // namespace fsr
