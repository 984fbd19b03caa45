// SPDX-License-Identifier: Apache-2.0
// A page for each SD, FSD, WD, FWD, host and slave (which is a rank), with the lines of the summary for each. Pages of works have
// a second page with histograms. With report=host_detail or slave_detail, hosts or slaves have a page for each of their SDs or
// FSDs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/run_page.hpp"
#include "workloads/vdbench/plan/rank_hosts.hpp"

namespace fsr::vdbench {

namespace {

class DetailPages final : public RunPage {
 public:
  // All references must outlive this.
  DetailPages(std::string directory, const Columns& columns, const General& general, const std::vector<HostRanks>& hosts)
      : directory_(std::move(directory)), columns_(columns), general_(general), hosts_(hosts) {}
  void begin(const RunRecord& record, const std::string& title) override {
    const std::string heading = run_heading(record, title);
    for (const Pages& pages : pages_of(*record.run))
      for (const RunPart& part : pages.parts) {
        page(part.name, fmt::format("Report for {}\n", part.name)).put(heading + "\n" + columns_.heading(record.wall));
        if (pages.has_histograms && general_.histogram_shown)
          page(part.name + ".histogram", fmt::format("Response time histogram of {}\n", part.name)).put(heading);
      }
  }
  void interval(const RunRecord& record) override { put(record, record.latest); }
  void end(const RunRecord& record) override {
    put(record, record.average);
    if (!general_.histogram_shown) return;
    for (const Pages& pages : pages_of(*record.run))
      for (const RunPart& part : pages.parts)
        if (pages.has_histograms)
          page(part.name + ".histogram")
              .put(histogram_text(figures_of(part, record.average), !record.run->systems.empty(), general_.histogram));
  }

 private:
  // Pages of some ranks of a run; no ranks: all.
  struct Pages {
    std::vector<unsigned> ranks;
    std::vector<RunPart> parts;
    bool has_histograms = false;
  };
  std::vector<Pages> pages_of(const PlannedRun& run) const {
    std::vector<Pages> all = {{.ranks = {}, .parts = parts_of(run, PartKind::workload), .has_histograms = true}};
    std::vector<RunPart>& parts = all[0].parts;
    if (general_.storage_pages)
      for (RunPart& part : parts_of(run, PartKind::storage))
        if (std::ranges::find(parts, part.name, &RunPart::name) == parts.end()) parts.push_back(std::move(part));
    for (const HostRanks& host : hosts_) {
      add_pages(all, run, host.name, host, host.ranks, general_.host_pages);
      for (size_t i = 0; i < host.ranks.size(); ++i)
        add_pages(all, run, slave_name(host, i), host, {host.ranks[i]}, general_.slave_pages);
    }
    return all;
  }
  // Adds the pages of a host or slave: its own, and those of its storages if `detailed`.
  static void add_pages(std::vector<Pages>& all, const PlannedRun& run, const std::string& name, const HostRanks& host,
                        const std::vector<unsigned>& ranks, bool detailed) {
    Pages& its = all.emplace_back(Pages{.ranks = ranks, .parts = {{.name = name, .share = 100, .works = {}}}});
    for (size_t w = 0; w < run.works(); ++w) its.parts[0].works.push_back(w);
    if (!detailed) return;
    for (RunPart& part : parts_of(run, PartKind::storage)) {
      if (std::ranges::none_of(part.works, [&](size_t w) { return is_among(host, run.hosts_of(w)); })) continue;
      part.name = name + "." + part.name;
      its.parts.push_back(std::move(part));
    }
  }
  // Returns the page; makes it if it is new. `heading`: first lines of a new page.
  Page& page(const std::string& name, const std::string& heading = {}) {
    std::unique_ptr<Page>& page = pages_[name];
    if (!page) {
      page = std::make_unique<Page>(directory_, page_name(name));
      page->put(html_text(heading));
    }
    return *page;
  }
  void put(const RunRecord& record, const RunLine& line) {
    for (const Pages& pages : pages_of(*record.run)) {
      RunLine its = pages.ranks.empty() ? line : line_of_ranks(line, pages.ranks);
      for (const RunPart& part : pages.parts) {
        its.all = figures_of(part, its);
        page(part.name).put(columns_.line(its));
      }
    }
  }

  const std::string directory_;
  const Columns& columns_;
  const General& general_;
  const std::vector<HostRanks>& hosts_;
  std::map<std::string, std::unique_ptr<Page>> pages_;
};

}  // namespace

std::unique_ptr<RunPage> detail_pages(const std::string& directory, const Columns& columns, const General& general,
                                      const std::vector<HostRanks>& hosts) {
  return std::make_unique<DetailPages>(directory, columns, general, hosts);
}

}  // namespace fsr::vdbench
