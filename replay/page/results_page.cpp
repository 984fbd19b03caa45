// SPDX-License-Identifier: Apache-2.0
#include "page/results_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "page/parts.hpp"
#include "util/html_page.hpp"
#include "util/units.hpp"

namespace fsr::page {

namespace {

constexpr size_t kMostDifferences = 30;  // rows of their table
constexpr int kRefresh = 5;              // s after which a browser loads the page of a run that goes on again

std::string several_title(const std::vector<ChosenRun>& runs) {
  const std::string input = runs.front().run.text("input");
  const bool alike = std::all_of(runs.begin(), runs.end(), [&](const ChosenRun& r) { return r.run.text("input") == input; });
  return fmt::format("{} runs{}", runs.size(), alike ? " of " + input : "");
}

// Describes the machine and the command.
constexpr const char* kEnvironment =
    "program: program; host: host; kernel: kernel; processors: cpus; processor: cpu; input: input; trace: trace_id; "
    "mix: mix_dialect; target: target; target lies on: target_mount; directory: directory; directory lies on: directory_mount; "
    "acting as: uid; command: command; memory: memory_bytes; seed: seed";

// Returns a text, or else a number that is not 0. Empty: the run has no such fact.
std::string fact_of(const ResultRow& row, const std::string& name) {
  const int64_t number = row.number(name);
  if (name == "memory_bytes") return format_size(uint64_t(number));
  const bool drawn = name == "seed" && !row.text("mix_dialect").empty();
  return drawn || (number && name != "seed") ? std::to_string(number) : row.text(name);
}

}  // namespace

void write_differences(HtmlPage& page, const std::vector<ShownRun>& runs) {
  struct Group {
    int64_t operations = 0, first = INT64_MAX;
    std::set<int64_t> runs;
    std::string example;
  };
  std::map<std::vector<std::string>, Group> groups;
  int64_t differed = 0;
  for (const ShownRun& run : runs) {
    differed += run.row.number("differed");
    for (const ResultRow& row : run.rows("differences")) {
      Group& group = groups[{row.text("kind"), row.text("expected"), row.text("got")}];
      group.operations += row.number("count");
      group.first = std::min(group.first, row.number("first_ns"));
      group.runs.insert(run.chosen.number());
      if (group.example.empty()) group.example = row.text("example");
    }
  }
  if (groups.empty()) return;
  std::vector<std::pair<std::vector<std::string>, Group>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.operations > b.second.operations; });
  sorted.resize(std::min(sorted.size(), kMostDifferences));
  HtmlPage::Table t{.caption = "By kind and outcome",
                    .headings = {"kind", "expected", "got", "operations", "first at", "in run", "example"},
                    .text_columns = true,
                    .id = "difference-table"};
  for (const auto& [outcome, group] : sorted) {
    t.rows.push_back({outcome[0], outcome[1], outcome[2], count(group.operations), duration(group.first),
                      fmt::format("{}", fmt::join(group.runs, ", ")), group.example});
    differed -= group.operations;
  }
  if (differed > 0) t.rows.push_back({"others", "", "", count(differed), "", "", ""});
  page.table(t);
}

void write_environment(HtmlPage& page, const std::vector<ShownRun>& runs) {
  page.section("environment", "Environment");
  HtmlPage::Values same;
  HtmlPage::Table t{.caption = "What differs between the runs",
                    .headings = {"run"},
                    .text_columns = true,
                    .folded = "What differs between the runs"};
  for (const ShownRun& run : runs) t.rows.push_back({fmt::format("run {}", run.chosen.number())});
  for (const auto& [what, name] : columns_of(kEnvironment)) {
    std::set<std::string> different;
    for (const ShownRun& run : runs) different.insert(fact_of(run.row, name));
    if (different.size() == 1) {
      same.emplace_back(what, *different.begin());
      continue;
    }
    t.headings.push_back(what);
    for (size_t i = 0; i < runs.size(); ++i) t.rows[i].push_back(fact_of(runs[i].row, name));
  }
  page.facts("environment-table", same);
  if (t.headings.size() == 1) t.rows.clear();
  page.table(t);
}

}  // namespace fsr::page

namespace fsr {

std::string results_page(const std::vector<ChosenRun>& runs) {
  const ResultRow& first = runs.front().run;
  HtmlPage html(runs.size() == 1 ? fmt::format("{} on {}", first.text("input"), first.text("target"))
                                 : page::several_title(runs));
  if (runs.back().running) html.refresh_every(page::kRefresh);
  const std::vector<page::ShownRun> shown(runs.begin(), runs.end());
  runs.size() > 1 ? page::write_runs(html, shown) : page::write_run(html, shown);
  return html.finish();
}

}  // namespace fsr
