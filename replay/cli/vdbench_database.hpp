// SPDX-License-Identifier: Apache-2.0
// Runs of vdbench's parameter files as rows of a results database. One thread.
#pragma once

#include <string>
#include <vector>

#include "report/facts.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr {

class VdbenchDatabase final : public vdbench::RunPage {
 public:
  // The file is opened, so that what can't be written is known before the runs. `input`: the parameter files. Throws
  // std::runtime_error "FILE: why", as all members do.
  VdbenchDatabase(const std::string& file, Facts origin, std::string input);
  void begin(const vdbench::RunRecord& record, const std::string& title) override;
  void interval(const vdbench::RunRecord& record) override;
  void end(const vdbench::RunRecord& record) override;  // keeps the run

 private:
  // Rows wait for the end of the run, so that other programs can use the file meanwhile.
  struct PendingRows {
    SeriesInterval times;
    std::vector<std::pair<unsigned, Measured>> operations;
    std::vector<Measured> parts;
  };
  void add_run(const vdbench::RunRecord& record);
  void add_distributions(const vdbench::RunRecord& record);
  void add_parts(const vdbench::RunRecord& record);

  ResultsDatabase database_;
  const Facts origin_;
  const std::string input_;
  std::vector<PendingRows> told_;
};

}  // namespace fsr
