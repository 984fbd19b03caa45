// SPDX-License-Identifier: Apache-2.0
// What an input or a program has to say in a report beyond what is said of every run. Constant once made.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fsr {

class ResultsDatabase;

class ReportSection {
 public:
  virtual ~ReportSection() = default;
  virtual std::string heading() const { return ""; }   // ends the first line of the text: ", timing original"
  virtual std::string text() const { return ""; }      // whole lines, after the image
  virtual std::string duration() const { return ""; }  // ends the line of the duration: ", planned 3 s"
  virtual void json(nlohmann::json& document) const = 0;
  virtual void database(ResultsDatabase& results) const = 0;  // throws std::runtime_error
  // Why the run is not clean, one line each.
  virtual std::vector<std::string> reasons() const { return {}; }
};

}  // namespace fsr
