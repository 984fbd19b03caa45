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

// Returns a text, or else a number that is not 0.
Cell fact_of(const ResultRow& row, const char* name) {
  return row.text(name).empty() && row.number(name) ? std::to_string(row.number(name)) : row.text(name);
}
Cell memory_of(const ResultRow& row, const char* name) { return format_size(uint64_t(row.number(name))); }
Cell seed_of(const ResultRow& row, const char* name) {
  return row.text("mix_dialect").empty() ? "" : std::to_string(row.number(name));
}

// Describes the machine and the command.
constexpr Column kEnvironment[] = {{"program", "program", fact_of},       {"host", "host", fact_of},
                                   {"kernel", "kernel", fact_of},         {"processors", "cpus", fact_of},
                                   {"processor", "cpu", fact_of},         {"input", "input", fact_of},
                                   {"trace", "trace_id", fact_of},        {"mix", "mix_dialect", fact_of},
                                   {"target", "target", fact_of},         {"target lies on", "target_mount", fact_of},
                                   {"directory", "directory", fact_of},   {"directory lies on", "directory_mount", fact_of},
                                   {"acting as", "uid", fact_of},         {"command", "command", fact_of},
                                   {"memory", "memory_bytes", memory_of}, {"seed", "seed", seed_of}};

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
  for (const Column& fact : kEnvironment) {
    const Cell first = fact.cell(runs[0].row, fact.name);
    if (std::all_of(runs.begin(), runs.end(),
                    [&](const ShownRun& run) { return fact.cell(run.row, fact.name).text == first.text; })) {
      same.emplace_back(fact.heading, first);
      continue;
    }
    t.headings.emplace_back(fact.heading);
    for (size_t i = 0; i < runs.size(); ++i) t.rows[i].push_back(fact.cell(runs[i].row, fact.name));
  }
  page.facts("environment-table", same);
  if (t.headings.size() > 1) page.table(t);
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
