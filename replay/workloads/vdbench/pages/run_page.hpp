// SPDX-License-Identifier: Apache-2.0
// Pages that follow the runs. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/plan/rank_hosts.hpp"

namespace fsr::vdbench {

class RunPage {
 public:
  virtual ~RunPage() = default;
  // `title`: first line of the run: "09:11:51.002 Starting RD=run1; I/O rate: 1000; elapsed=4; For loops: None".
  virtual void begin(const RunRecord&, const std::string& /*title*/) {}
  virtual void interval(const RunRecord&) {}  // the last interval
  virtual void end(const RunRecord&) {}
  virtual void finish() {}  // after all runs
};

// Each writes pages to `directory`. All references must outlive the page.
// flatfile.html: a line for each interval and average, in columns. `of_files`: adds the columns of runs on trees of files.
std::unique_ptr<RunPage> flatfile_page(const std::string& directory, bool of_files, Layout layout);
std::unique_ptr<RunPage> curves_page(const std::string& directory);  // curves.html
// Pages of each SD, FSD, WD, FWD, host and slave.
std::unique_ptr<RunPage> detail_pages(const std::string& directory, const Columns& columns, const General& general,
                                      const std::vector<HostRanks>& hosts);
// skew.html. `links`: links to the runs.
std::unique_ptr<RunPage> skew_page(const std::string& directory, const Columns& columns, const std::string& links,
                                   const std::vector<HostRanks>& hosts);
// Returns the largest difference in percent between requested and achieved share of a workload. 0: the run keeps no shares.
double worst_skew(const RunRecord& record);

}  // namespace fsr::vdbench
