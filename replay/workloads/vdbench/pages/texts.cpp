// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "util/units.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

namespace {

constexpr unsigned kIndent = 33;

std::string place_of(const PlannedRun& run) { return fmt::format("_{}", std::hash<std::string>()(run.title()) % 4'294'967'296); }

}  // namespace

std::string run_links(const std::vector<PlannedRun>& runs) {
  std::string text, words = "Link to Run Definitions:";
  for (const PlannedRun& run : runs) {
    text += fmt::format("{:<{}}<A HREF=\"#{}\">{} For loops: {}</A>\n", words, kIndent, place_of(run), html_text(run.name),
                        html_text(run.loops));
    words.clear();
  }
  return text.empty() ? text : text + "\n";
}

std::string run_heading(const RunRecord& record, const std::string& title) {
  return fmt::format("\n<a name=\"{}\"></a><i><b>{}</b></i>\n\n", place_of(*record.run), html_text(title));
}

std::string page_links(const char* what, const std::vector<std::string>& names) {
  std::string text = fmt::format("{:<{}}", fmt::format("Link to {} reports:", what), kIndent);
  for (const std::string& name : names) text += fmt::format("<A HREF=\"{0}.html\">{0}</A>    ", html_text(page_name(name)));
  return text + "\n";
}

std::string part_links(const std::vector<PlannedRun>& runs, bool of_storages) {
  std::string text;
  for (const PartKind kind : {PartKind::storage, PartKind::workload}) {
    if (kind == PartKind::storage && !of_storages) continue;
    std::vector<std::string> names;
    for (const PlannedRun& run : runs)
      for (const RunPart& part : parts_of(run, kind))
        if (std::find(names.begin(), names.end(), part.name) == names.end()) names.push_back(part.name);
    if (!names.empty()) text += page_links(part_words(runs.front(), kind), names);
  }
  return text;
}

namespace {

constexpr unsigned kBar = 50;

const std::vector<int64_t>& default_edges() {
  static const std::vector<int64_t> edges = [] {
    std::vector<int64_t> all;
    for (int64_t unit : {10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000})
      for (int64_t n : {1, 2, 4, 6, 8})
        if (unit * n >= 20'000 && unit * n <= 2'000'000'000) all.push_back(unit * n);
    return all;
  }();
  return edges;
}

std::string table(const char* what, const Histogram& times, const std::vector<int64_t>& edges) {
  std::vector<uint64_t> counts(edges.size() + 1);
  times.each_bucket([&](int64_t low, int64_t, uint64_t count) {
    counts[size_t(std::upper_bound(edges.begin(), edges.end(), low) - edges.begin())] += count;
  });
  std::string text =
      fmt::format("{}:\n  min(ms) <     max(ms)        count       %%    cum%%  '+': Individual%; '+-': Cumulative%\n\n", what);
  double before = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double percent = 100.0 * double(counts[i]) / double(times.count()), sum = before + percent;
    const std::string to = i < edges.size() ? fmt::format("{:.3f}", double(edges[i]) / 1e6) : "max";
    text += fmt::format("{:>9.3f} < {:>11} {:>12} {:>8.4f} {:>8.4f}  {}{}\n", i ? double(edges[i - 1]) / 1e6 : 0.0, to,
                        format_count(counts[i]), percent, sum, std::string(size_t(percent * kBar / 100), '+'),
                        std::string(size_t(before * kBar / 100), '-'));
    before = sum;
  }
  text += "\n  percentiles (ms):";
  for (double q : {0.5, 0.9, 0.99, 0.999, 0.9999})
    text += fmt::format("  p{:g} {:.3f}", q * 100, double(times.quantile(q)) / 1e6);
  return text + fmt::format("  max {:.3f}\n\n", double(times.max()) / 1e6);
}

}  // namespace

std::string histogram_text(const Figures& figures, bool files, const std::vector<int64_t>& edges) {
  const std::vector<int64_t>& buckets = edges.empty() ? default_edges() : edges;
  const Histogram& all = figures.requested.service;
  if (all.count() == 0) return "No statistics generated for this run.\n";
  if (!files)
    for (const auto& [words, operation] : {std::pair("Only reads done for this workload", Operation::read),
                                           {"Only writes done for this workload", Operation::write}})
      if (figures.of(operation).count == all.count()) return table(words, all, buckets);
  std::string text = table(files ? "Total of all requested operations" : "Reads and writes", all, buckets);
  for (unsigned o = 0; o < kOperations; ++o)
    if (const Histogram& times = figures.operations[o].service; times.count() != 0)
      text += table(files ? kOperationNames[o] : Operation(o) == Operation::read ? "Reads" : "Writes", times, buckets);
  return text;
}

}  // namespace fsr::vdbench
