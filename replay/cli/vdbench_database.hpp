// SPDX-License-Identifier: Apache-2.0
// Writes runs of vdbench's parameter files to a results database. One thread.
#pragma once

#include <string>
#include <vector>

#include "report/facts.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr {

class VdbenchDatabase final : public vdbench::RunPage {
 public:
  // Opens the database, so that an error is found before the runs. `input`: the parameter files. All members throw
  // std::runtime_error "FILE: why".
  VdbenchDatabase(const std::string& file, Facts origin, std::string input);
  void begin(const vdbench::RunRecord& record, const std::string& title) override;
  void interval(const vdbench::RunRecord& record) override;
  void end(const vdbench::RunRecord& record) override;  // writes the run

 private:
  // Rows of one interval. They are kept until the end of the run, so that other programs can use the file meanwhile.
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
  std::vector<PendingRows> pending_;
};

}  // namespace fsr
