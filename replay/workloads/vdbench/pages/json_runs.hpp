// SPDX-License-Identifier: Apache-2.0
// Writes the runs as one JSON document: the figures of the pages, with percentiles and response times from the due time.
#pragma once

#include <nlohmann/json.hpp>

#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

class JsonRuns final : public RunPage {
 public:
  void begin(const RunRecord& record, const std::string& title) override;
  void interval(const RunRecord& record) override;
  void end(const RunRecord& record) override;
  // Returns {"program", "rows", "runs"}. Rows have a rate for each run, as fsbench compare needs them.
  nlohmann::json document() const;

 private:
  nlohmann::json rows_ = nlohmann::json::array(), runs_ = nlohmann::json::array(), intervals_;
};

}  // namespace fsr::vdbench
