// SPDX-License-Identifier: Apache-2.0
// The runs as one JSON document: what the pages have, with percentiles and with response times from when operations were due.
#pragma once

#include <nlohmann/json.hpp>

#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

class JsonRuns final : public RunPage {
 public:
  void begin(const RunRecord& record, const std::string& title) override;
  void interval(const RunRecord& record) override;
  void end(const RunRecord& record) override;
  // {"program", "rows", "runs"}; rows hold a rate for each run, as fsbench compare wants them.
  nlohmann::json document() const;

 private:
  nlohmann::json rows_ = nlohmann::json::array(), runs_ = nlohmann::json::array(), intervals_;
};

}  // namespace fsr::vdbench
