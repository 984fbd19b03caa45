// SPDX-License-Identifier: Apache-2.0
// Part of a report that an input or a program adds to what is reported of every run. Constant once made.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sql/results.hpp"

namespace fsr {

class MetricsText;

class ReportSection {
 public:
  virtual ~ReportSection() = default;
  virtual std::string heading() const { return ""; }   // ends the first line of the text: ", timing original"
  virtual std::string text() const { return ""; }      // whole lines, after the image
  virtual std::string duration() const { return ""; }  // ends the line of the duration: ", planned 3 s"
  virtual void facts(Facts& of_run) const = 0;         // columns of the table `run`
  virtual void json(nlohmann::json& document) const = 0;
  // True: the section has figures while a run goes on, which facts() and metrics() add to what is shown then.
  virtual bool so_far() const { return false; }
  virtual void metrics(MetricsText&) const {}
  virtual void database(ResultsDatabase&) const {}  // rows of further tables; throws std::runtime_error
  // Returns why the run is not clean, one line each.
  virtual std::vector<std::string> reasons() const { return {}; }
};

}  // namespace fsr
