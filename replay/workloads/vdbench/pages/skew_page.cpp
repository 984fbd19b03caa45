// SPDX-License-Identifier: Apache-2.0
// Writes skew.html: the figures of each slave, host, SD, FSD, WD and FWD in a run's average, and the requested share of the rate.
// Returns the largest difference in percent between requested and achieved share of a workload. 0: the run keeps no shares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/run_page.hpp"
#include "workloads/vdbench/plan/rank_hosts.hpp"

namespace fsr::vdbench {

namespace {

constexpr double kLeastReported = 0.1;  // percent; smaller differences are not reported

// Appends `more` to the last line of `text`.
std::string with(const std::string& text, const std::string& more) { return text.substr(0, text.rfind('\n')) + more + "\n"; }

double percent(uint64_t part, uint64_t all) { return all ? 100 * double(part) / double(all) : 0; }

class SkewPage final : public RunPage {
 public:
  // `columns` and `hosts` must outlive this. `links`: links to the runs.
  SkewPage(const std::string& directory, const Columns& columns, const std::string& links, const std::vector<HostRanks>& hosts)
      : columns_(columns), hosts_(hosts), page_(directory, "skew") {
    page_.put(
        "Workload skew report\n\nTables are of runs on trees of files, and of those with several slaves, SDs or WDs.\n\n\n" +
        links);
  }
  void begin(const RunRecord& record, const std::string& title) override { page_.put(run_heading(record, title)); }
  void end(const RunRecord& record) override {
    const PlannedRun& run = *record.run;
    const bool of_files = !run.systems.empty();
    const std::vector<RunPart> storages = parts_of(run, PartKind::storage), workloads = parts_of(run, PartKind::workload);
    std::vector<Row> hosts, slaves;
    for (const HostRanks& host : hosts_) {
      hosts.push_back({host.name, line_of_ranks(record.average, host.ranks).all});
      for (size_t i = 0; i < host.ranks.size(); ++i)
        slaves.push_back({slave_name(host, i), line_of_ranks(record.average, {host.ranks[i]}).all});
    }
    if (!of_files && slaves.size() < 2 && storages.size() < 2 && workloads.size() < 2) return;
    page_.put(timed(record.average.wall, "\nCounts reported below are for non-warmup intervals.\n"));
    if (slaves.size() > 1) table(record, "Slave", slaves, false);
    if (of_files || hosts.size() > 1) table(record, "Host", hosts, false);
    if (of_files || storages.size() > 1) table(record, part_words(run, PartKind::storage), rows_of(record, storages), false);
    if (of_files) {
      if (!run.formats) table(record, part_words(run, PartKind::workload), rows_of(record, workloads), false);
      if (!run.formats && workloads.size() > 1) shares(record, workloads);
      return;
    }
    if (workloads.size() < 2) return;
    page_.put(
        timed(record.average.wall, "\nCalculated versus requested workload skew. (Delta only shown if > 0.10% absolute)\n"));
    if (run.rate.kind == Rate::max && (!run.keeps_shares() || run.formats))
      page_.put(timed(record.average.wall,
                      "Note that for an Uncontrolled MAX run workload skew is irrelevant.\nThis was an Uncontrolled MAX run.\n"));
    table(record, part_words(run, PartKind::workload), rows_of(record, workloads), true);
  }

 private:
  // A row of a table. `share`: percent of the requested rate, in tables with shares.
  struct Row {
    std::string name;
    Figures figures;
    double share = 0;
  };
  void table(const RunRecord& record, const std::string& what, const std::vector<Row>& rows, bool with_shares) {
    const RunLine& average = record.average;
    std::string heading = columns_.part_heading(what);
    if (with_shares) {
      const size_t second = heading.find('\n') + 1;
      heading = with(heading.substr(0, second), "      skew     skew    skew ") +
                with(heading.substr(second), " requested observed   delta ");
    }
    std::string text = "\n" + heading;
    auto add = [&](const std::string& name, const Figures& figures, double asked) {
      std::string line = columns_.part_line(name, figures, average.seconds);
      if (with_shares) {
        const double seen = percent(figures.requested.count, average.all.requested.count);
        line = with(line, fmt::format("{:>9.2f}%{:>8.2f}%{}", asked, seen,
                                      std::abs(asked - seen) > kLeastReported ? fmt::format("{:>7.2f}%", asked - seen) : " "));
      }
      text += line;
    };
    double asked = 0;
    for (const Row& row : rows) {
      add(row.name, row.figures, row.share);
      asked += row.share;
    }
    if (rows.size() > 1) add("Total", average.all, asked);
    page_.put(html_text(timed(average.wall, text)));
  }
  static std::vector<Row> rows_of(const RunRecord& record, const std::vector<RunPart>& parts) {
    std::vector<Row> rows;
    for (const RunPart& part : parts) rows.push_back({part.name, figures_of(part, record.average), part.share});
    return rows;
  }
  // for runs on trees of files
  void shares(const RunRecord& record, const std::vector<RunPart>& parts) {
    const RunLine& average = record.average;
    std::string text = "\nFWD skew requested vs. actual\nFWD          ops/sec  requested  actual   delta\n";
    for (const RunPart& part : parts) {
      const KindCounters& cell = figures_of(part, average).requested;
      const double seen = percent(cell.count, average.all.requested.count);
      text += fmt::format("{:<13}{:>7.0f}{:>10.2f}%{:>7.2f}%{:>+7.2f}%\n", part.name, rate(cell, average.seconds), part.share,
                          seen, seen - part.share);
    }
    page_.put(html_text(timed(average.wall, text)));
  }

  const Columns& columns_;
  const std::vector<HostRanks>& hosts_;
  Page page_;
};

}  // namespace

std::unique_ptr<RunPage> skew_page(const std::string& directory, const Columns& columns, const std::string& links,
                                   const std::vector<HostRanks>& hosts) {
  return std::make_unique<SkewPage>(directory, columns, links, hosts);
}

double worst_skew(const RunRecord& record) {
  const PlannedRun& run = *record.run;
  if (run.rate.kind != Rate::fixed && !run.keeps_shares()) return 0;
  double worst = 0;
  for (const RunPart& part : parts_of(run, PartKind::workload)) {
    const double seen = percent(figures_of(part, record.average).requested.count, record.average.all.requested.count);
    worst = std::max(worst, std::abs(part.share - seen));
  }
  return worst;
}

}  // namespace fsr::vdbench
