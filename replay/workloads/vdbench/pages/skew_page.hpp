// SPDX-License-Identifier: Apache-2.0
// Writes skew.html: the figures of each SD, FSD, WD and FWD in a run's average, and the requested share of the rate.
#pragma once

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/parts.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

class SkewPage final : public RunPage {
 public:
  // `columns` must outlive this. `links`: links to the runs.
  SkewPage(const std::string& directory, const Columns& columns, const std::string& links);
  void begin(const RunRecord& record, const std::string& title) override;
  void end(const RunRecord& record) override;

 private:
  void table(const RunRecord& record, const std::string& what, const std::vector<RunPart>& parts, bool with_shares);
  void shares(const RunRecord& record, const std::vector<RunPart>& parts);  // for runs on trees of files

  const Columns& columns_;
  Page page_;
};

// Returns the largest difference in percent between requested and achieved share of a workload. 0: the run keeps no shares.
double worst_skew(const RunRecord& record);

}  // namespace fsr::vdbench
