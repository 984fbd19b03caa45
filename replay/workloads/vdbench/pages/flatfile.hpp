// SPDX-License-Identifier: Apache-2.0
// Writes flatfile.html: a line for each interval and average, in columns separated by blanks, for parseflat and users' scripts.
#pragma once

#include <vector>

#include "workloads/vdbench/pages/flat_columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

class FlatFile final : public RunPage {
 public:
  // `of_files`: adds the columns of runs on trees of files.
  FlatFile(const std::string& directory, bool of_files, Layout layout);
  void interval(const RunRecord& record) override;
  void end(const RunRecord& record) override;

 private:
  void put(const RunRecord& record, const RunLine& line);
  std::string cell(const FlatColumn& column, const std::string& text) const;

  const Layout layout_;
  const std::vector<FlatColumn> columns_;
  Page page_;
};

}  // namespace fsr::vdbench
