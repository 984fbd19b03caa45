// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/skew_page.hpp"

#include <fmt/format.h>

#include <cmath>

namespace fsr::vdbench {

namespace {

constexpr double kToldFrom = 0.1;  // percent

// `text` is one or more whole lines; each gets the time, as all lines of this page have it.
std::string timed(int64_t wall, const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    out += clock_text(wall) + " " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

// Behind the end of a line, or of each of several.
std::string with(const std::string& text, const std::string& more) { return text.substr(0, text.rfind('\n')) + more + "\n"; }

}  // namespace

SkewPage::SkewPage(const std::string& directory, const Columns& columns) : columns_(columns), page_(directory, "skew") {
  page_.put("Workload skew report\n\n");
}

void SkewPage::begin(const RunRecord&, const std::string& title) { page_.put("\n<i><b>" + html_text(title) + "</b></i>\n\n"); }

void SkewPage::end(const RunRecord& record) {
  const PlannedRun& run = *record.run;
  const bool several_storages = parts_of(run, PartKind::storage).size() > 1;
  const bool several_workloads = parts_of(run, PartKind::workload).size() > 1;
  if (!several_storages && !several_workloads) return;
  page_.put(timed(record.average.wall, "\nCounts reported below are for non-warmup intervals.\n"));
  if (several_storages) table(record, PartKind::storage, false);
  if (!several_workloads) return;
  page_.put(timed(record.average.wall, "\nCalculated versus requested workload skew. (Delta only shown if > 0.10% absolute)\n"));
  if (!run.keeps_shares() || run.formats)
    page_.put(timed(record.average.wall,
                    "Note that for an Uncontrolled MAX run workload skew is irrelevant.\nThis was an Uncontrolled MAX run.\n"));
  table(record, PartKind::workload, true);
}

void SkewPage::table(const RunRecord& record, PartKind kind, bool with_shares) {
  const RunLine& average = record.average;
  std::string heading = columns_.part_heading(part_words(*record.run, kind));
  if (with_shares) {
    const size_t second = heading.find('\n') + 1;
    heading = with(heading.substr(0, second), "      skew     skew    skew ") +
              with(heading.substr(second), " requested observed   delta ");
  }
  std::string text = "\n" + heading;
  auto add = [&](const std::string& name, const Figures& figures, double asked) {
    std::string line = columns_.part_line(name, figures, average.seconds);
    if (with_shares) {
      const double all = double(average.all.requested.count);
      const double seen = all > 0 ? 100 * double(figures.requested.count) / all : 0;
      line = with(line, fmt::format("{:>9.2f}%{:>8.2f}%{}", asked, seen,
                                    std::abs(asked - seen) > kToldFrom ? fmt::format("{:>7.2f}%", asked - seen) : " "));
    }
    text += line;
  };
  double asked = 0;
  for (const RunPart& part : parts_of(*record.run, kind)) {
    add(part.name, figures_of(part, average), part.share);
    asked += part.share;
  }
  add("Total", average.all, asked);
  page_.put(html_text(timed(average.wall, text)));
}

}  // namespace fsr::vdbench
