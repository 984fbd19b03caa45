// SPDX-License-Identifier: Apache-2.0
// A page for each SD, FSD, WD and FWD, and one for the host, with the lines of the summary for each. All except the host have a
// second page with histograms.
#pragma once

#include <map>

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/parts.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

class DetailPages final : public RunPage {
 public:
  // `columns` and `general` must outlive this.
  DetailPages(std::string directory, const Columns& columns, const General& general)
      : directory_(std::move(directory)), columns_(columns), general_(general) {}
  void begin(const RunRecord& record, const std::string& title) override;
  void interval(const RunRecord& record) override;
  void end(const RunRecord& record) override;

 private:
  std::vector<RunPart> parts(const RunRecord& record) const;
  // Returns the page; makes it if it is new. `heading`: first lines of a new page.
  Page& page(const std::string& name, const std::string& heading = {});
  void put(const RunRecord& record, const RunLine& line);

  const std::string directory_;
  const Columns& columns_;
  const General& general_;
  std::map<std::string, std::unique_ptr<Page>> pages_;
};

}  // namespace fsr::vdbench
