// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "report/report.hpp"

namespace fsr {

// Section that adds one member to the JSON report.
class JsonMember final : public ReportSection {
 public:
  JsonMember(std::string name, nlohmann::json value) : name_(std::move(name)), value_(std::move(value)) {}
  void facts(Facts&) const override {}
  void json(nlohmann::json& document) const override { document[name_] = value_; }

 private:
  const std::string name_;
  const nlohmann::json value_;
};

}  // namespace fsr
