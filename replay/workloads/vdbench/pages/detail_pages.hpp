// SPDX-License-Identifier: Apache-2.0
// A page for each SD, FSD, WD and FWD, and one for the host: the lines of the summary, of what that one did.
#pragma once

#include <map>

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/parts.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

class DetailPages final : public RunPage {
 public:
  // `columns` outlives it. `of_storages`: pages of SDs or FSDs too.
  DetailPages(std::string directory, const Columns& columns, bool of_storages)
      : directory_(std::move(directory)), columns_(columns), of_storages_(of_storages) {}
  void begin(const RunRecord& record, const std::string& title) override;
  void interval(const RunRecord& record) override;
  void end(const RunRecord& record) override;

 private:
  std::vector<RunPart> parts(const RunRecord& record) const;
  Page& page(const std::string& name);
  void put(const RunRecord& record, const RunLine& line);

  const std::string directory_;
  const Columns& columns_;
  const bool of_storages_;
  std::map<std::string, std::unique_ptr<Page>> pages_;
};

}  // namespace fsr::vdbench
