// SPDX-License-Identifier: Apache-2.0
// Pages that follow the runs. One thread.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
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
// Writes {"program", "rows", "runs"} to `document`: the figures of the pages, with percentiles and response times from the due
// time. Rows have a rate for each run, as fsbench compare needs them.
std::unique_ptr<RunPage> json_page(nlohmann::json& document);
// skew.html. `links`: links to the runs.
std::unique_ptr<RunPage> skew_page(const std::string& directory, const Columns& columns, const std::string& links,
                                   const std::vector<HostRanks>& hosts);
// Returns the largest difference in percent between requested and achieved share of a workload. 0: the run keeps no shares.
double worst_skew(const RunRecord& record);

// Texts on several pages. No state.
// Returns "Link to Run Definitions:" and a line for each run that is known before the first one starts.
std::string run_links(const std::vector<PlannedRun>& runs);
// Returns the first line of a run, to which links lead.
std::string run_heading(const RunRecord& record, const std::string& title);
// Returns "Link to HOST reports:           hd1     hd2" with a link to each page.
std::string page_links(const char* what, const std::vector<std::string>& names);
// Returns "Link to SD reports:             sd1      sd2" with a link to each page of a part of the runs.
std::string part_links(const std::vector<PlannedRun>& runs, bool of_storages);
// Returns the text for all operations together and by kind. `edges`: upper edges of the buckets, ns, ascending. Empty: vdbench's
// own.
std::string histogram_text(const Figures& figures, bool files, const std::vector<int64_t>& edges);

}  // namespace fsr::vdbench
