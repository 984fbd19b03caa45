// SPDX-License-Identifier: Apache-2.0
// All output during the runs, on the terminal and on the pages of the output directory. One thread, except error().
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

struct ReportOptions {
  const General& general;  // must outlive the reports
  std::string directory;   // it must exist; empty: nothing is reported, as on all ranks except the root
  bool quiet = false;      // prints only errors on the terminal
  std::vector<HostRanks> hosts;
  Layout layout = Layout::v50407;
  nlohmann::json* json = nullptr;  // gets the runs as one document; may be null
  RunPage* other = nullptr;        // gets the runs like the pages; may be null
};

class Reports {
 public:
  // `lines`: of the parameter files.
  Reports(const ReportOptions& options, const std::vector<PlannedRun>& runs, const std::vector<std::string>& lines,
          const std::vector<Statement>& statements);

  void note(const std::string& text);  // one line; the time is added
  void status(const std::string& words, const RunRecord* record = nullptr);
  void error(const std::string& text);  // any thread
  // Returns the errors that were reported where nothing is written, and forgets them.
  std::vector<std::string> take_errors() { return std::exchange(kept_, {}); }
  void begin(const RunRecord& record);
  void interval(const RunRecord& record);  // reports the last interval
  void end(const RunRecord& record);
  void finish_pages();                      // after all runs; throws std::runtime_error if a page can't be written
  void finish(const std::string& verdict);  // the last line
  const std::string& directory() const { return options_.directory; }

 private:
  bool silent() const { return options_.directory.empty(); }
  void everywhere(const std::string& text);  // to terminal, summary and log
  template <class Act>
  void for_each_page(Act act);

  const ReportOptions options_;
  const std::unique_ptr<Columns> columns_;
  Page summary_, totals_, log_, status_, errors_, histogram_;
  std::vector<std::unique_ptr<RunPage>> pages_;  // pages that need only the records
  std::mutex errors_mutex_;
  std::vector<std::string> kept_;  // errors, if the directory is empty
  bool totals_headed_ = false;
};

}  // namespace fsr::vdbench
