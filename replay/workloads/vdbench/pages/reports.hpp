// SPDX-License-Identifier: Apache-2.0
// All output during the runs: on the terminal and on the pages of the output directory. One thread, except error().
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/json_runs.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"

namespace fsr::vdbench {

struct ReportOptions {
  const General& general;    // outlives the reports
  std::string directory;     // made; empty: nothing is told to anybody, as on ranks but the root
  bool quiet = false;        // nothing on the terminal but what went wrong
  std::string layout;        // of columns: "5.00", or 5.04's
  bool json = false;         // is asked for
  RunPage* other = nullptr;  // told of the runs as the pages are; may be null
};

class Reports {
 public:
  // `lines`: of the parameter files.
  Reports(const ReportOptions& options, const std::vector<PlannedRun>& runs, const std::vector<std::string>& lines,
          const std::vector<Statement>& statements);

  void note(const std::string& text);  // a line, with the time
  void status(const std::string& words, const RunRecord* record = nullptr);
  void error(const std::string& text);  // any thread
  void begin(const RunRecord& record);
  void interval(const RunRecord& record);  // its latest
  void end(const RunRecord& record);
  void finish_pages();                      // after all runs; throws std::runtime_error for what can't be written
  void finish(const std::string& verdict);  // the last line
  const std::string& directory() const { return options_.directory; }
  nlohmann::json json() const { return json_->document(); }  // where it was asked for

 private:
  bool silent() const { return options_.directory.empty(); }
  void everywhere(const std::string& text);  // terminal, summary and log
  template <class Tell>
  void tell_pages(Tell tell);

  const ReportOptions options_;
  const std::unique_ptr<Columns> columns_;
  Page summary_, totals_, log_, status_, errors_, histogram_;
  std::vector<std::unique_ptr<RunPage>> pages_;  // pages that are made only from the records
  JsonRuns* json_ = nullptr;                     // one of them; may be null
  std::mutex errors_mutex_;
  bool totals_headed_ = false;
};

}  // namespace fsr::vdbench
