// SPDX-License-Identifier: Apache-2.0
// A page for each SD, FSD, WD, FWD, host and slave (which is a rank), with the lines of the summary for each. Pages of works have
// a second page with histograms. With report=host_detail or slave_detail, hosts or slaves have a page for each of their SDs or
// FSDs.
#pragma once

#include <map>

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/parts.hpp"
#include "workloads/vdbench/pages/run_page.hpp"
#include "workloads/vdbench/plan/rank_hosts.hpp"

namespace fsr::vdbench {

class DetailPages final : public RunPage {
 public:
  // All references must outlive this.
  DetailPages(std::string directory, const Columns& columns, const General& general, const std::vector<HostRanks>& hosts)
      : directory_(std::move(directory)), columns_(columns), general_(general), hosts_(hosts) {}
  void begin(const RunRecord& record, const std::string& title) override;
  void interval(const RunRecord& record) override;
  void end(const RunRecord& record) override;

 private:
  // Pages of some ranks of a run; no ranks: all.
  struct Pages {
    std::vector<unsigned> ranks;
    std::vector<RunPart> parts;
    bool has_histograms = false;
  };
  std::vector<Pages> pages_of(const PlannedRun& run) const;
  // Adds the pages of a host or slave: its own, and those of its storages if `detailed`.
  static void add_pages(std::vector<Pages>& all, const PlannedRun& run, const std::string& name, const HostRanks& host,
                        const std::vector<unsigned>& ranks, bool detailed);
  // Returns the page; makes it if it is new. `heading`: first lines of a new page.
  Page& page(const std::string& name, const std::string& heading = {});
  void put(const RunRecord& record, const RunLine& line);

  const std::string directory_;
  const Columns& columns_;
  const General& general_;
  const std::vector<HostRanks>& hosts_;
  std::map<std::string, std::unique_ptr<Page>> pages_;
};

}  // namespace fsr::vdbench
