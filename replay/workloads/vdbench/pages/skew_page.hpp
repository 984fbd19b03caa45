// SPDX-License-Identifier: Apache-2.0
// Writes skew.html: the figures of each slave, host, SD, FSD, WD and FWD in a run's average, and the requested share of the rate.
#pragma once

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/parts.hpp"
#include "workloads/vdbench/pages/run_page.hpp"
#include "workloads/vdbench/plan/rank_hosts.hpp"

namespace fsr::vdbench {

class SkewPage final : public RunPage {
 public:
  // `columns` and `hosts` must outlive this. `links`: links to the runs.
  SkewPage(const std::string& directory, const Columns& columns, const std::string& links, const std::vector<HostRanks>& hosts);
  void begin(const RunRecord& record, const std::string& title) override;
  void end(const RunRecord& record) override;

 private:
  // A row of a table. `share`: percent of the requested rate, in tables with shares.
  struct Row {
    std::string name;
    Figures figures;
    double share = 0;
  };
  void table(const RunRecord& record, const std::string& what, const std::vector<Row>& rows, bool with_shares);
  static std::vector<Row> rows_of(const RunRecord& record, const std::vector<RunPart>& parts);
  void shares(const RunRecord& record, const std::vector<RunPart>& parts);  // for runs on trees of files

  const Columns& columns_;
  const std::vector<HostRanks>& hosts_;
  Page page_;
};

// Returns the largest difference in percent between requested and achieved share of a workload. 0: the run keeps no shares.
double worst_skew(const RunRecord& record);

}  // namespace fsr::vdbench
