// SPDX-License-Identifier: Apache-2.0
#include "kept_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "measure/bound.hpp"
#include "sql/results_reader.hpp"
#include "util/units.hpp"

namespace fsr::fsbench {

namespace {

using Words = std::vector<std::string>;

struct KeptRun {
  std::string load;  // the program, and what determines its load
  ProgramRun run;
  std::string not_whole;  // operations that were not issued; empty: none
};

struct Series {
  std::vector<KeptRun> runs;
  std::string first, last;  // times of day of the first and the last run
  std::set<std::string> targets;
  Facts origin;  // of the first run
};

Words words_of(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Rows of a run of fsreplay, whose results stand in other tables.
std::vector<RunRow> rows_of_replay(ResultsReader& file, const ResultRow& run) {
  const int64_t id = run.number("id");
  std::vector<RunRow> rows = {
      {.name = "all", .unit = "op/s", .rate = run.real("achieved_per_s"), .offered = run.real("offered_per_s")}};
  const Histogram response = file.histogram(id, "", "response"), open = file.histogram(id, "", "open");
  if (response.count())
    for (const auto& [words, q] : {std::pair("p50", 0.5), {"p99", 0.99}, {"p99.9", 0.999}})
      rows.push_back({.name = fmt::format("all response {}", words),
                      .unit = "ms",
                      .rate = double(response.quantile(q)) / 1e6,
                      .is_time = true,
                      .is_bound = is_lower_bound(response, open, q)});
  for (const ResultRow& row : file.rows("distributions", id))
    if (const double mean = row.real("mean_ns"); !row.text("kind").empty() && row.text("what") == "service" && mean > 0)
      rows.push_back({row.text("kind"), "op/s of service", 1e9 / mean});
  return rows;
}

std::vector<RunRow> rows_of(ResultsReader& file, const ResultRow& run) {
  std::vector<RunRow> rows;
  for (const ResultRow& row : file.rows("measured", run.number("id")))
    rows.push_back({.name = row.text("name"),
                    .unit = row.text("unit"),
                    .rate = row.real("value"),
                    .is_time = row.number("less_is_better") != 0,
                    .is_bound = row.number("lower_bound") != 0,
                    .offered = row.real("offered_per_s")});
  if (rows.empty()) rows = rows_of_replay(file, run);
  std::erase_if(rows, [](const RunRow& row) { return !(row.rate > 0); });
  return rows;
}

std::string load_of(const ResultRow& run) {
  std::string load = run.text("input");
  if (const double asked = run.real("asked_per_s"); asked > 0) load += fmt::format(" --load {:g}", asked);
  if (const std::string timing = run.text("timing"); !timing.empty() && !run.text("trace_id").empty())
    load += fmt::format(" --timing {} --scale {:g}x --clones {}", timing, run.real("scale"), run.number("clones"));
  return load;
}

std::string not_whole(const ResultRow& run) {
  const int64_t issued = run.number("issued"), all = run.number("operations");
  return issued < all
             ? fmt::format("{} of {} operations were issued", format_count(uint64_t(issued)), format_count(uint64_t(all)))
             : "";
}

Series read(const std::string& name) {
  ResultsReader file(name);
  Series series;
  for (const ResultRow& run : file.runs()) {
    KeptRun kept{load_of(run), {}, not_whole(run)};
    kept.run.rows = rows_of(file, run);
    if (kept.run.rows.empty()) continue;  // a row of another kind, such as a comparison
    kept.run.status = int(run.number("exit_status"));
    if (series.first.empty()) series.first = run.text("started");
    if (series.origin.empty()) {
      for (const char* column : {"started", "program", "command", "host", "kernel", "cpu", "directory", "directory_mount"})
        series.origin.emplace_back(column, run.text(column));
      for (const char* column : {"started_ns", "cpus", "memory_bytes"}) series.origin.emplace_back(column, run.number(column));
    }
    series.last = run.text("started");
    series.targets.insert(run.text("target"));
    series.runs.push_back(std::move(kept));
  }
  if (series.runs.empty()) throw std::runtime_error(name + ": has no runs that could be compared");
  return series;
}

// Returns a short name for each load: the words that not all loads have, each behind its option. Empty: there is one load only.
std::map<std::string, std::string> short_names(const std::set<std::string>& loads) {
  std::map<std::string, std::string> names;
  for (const std::string& load : loads) {
    const Words own = words_of(load);
    std::string& name = names[load];
    for (size_t i = 0; i < own.size() && loads.size() > 1; ++i) {
      const bool common = std::all_of(loads.begin(), loads.end(), [&](const std::string& other) {
        const Words words = words_of(other);
        return i < words.size() && words[i] == own[i];
      });
      if (common) continue;
      if (i > 0 && own[i - 1].starts_with('-') && !name.ends_with(own[i - 1])) name += (name.empty() ? "" : " ") + own[i - 1];
      name += (name.empty() ? "" : " ") + own[i];
    }
  }
  return names;
}

}  // namespace

Comparison kept_comparison(const std::vector<std::string>& files) {
  std::vector<Series> all;
  for (const std::string& name : files) all.push_back(read(name));
  std::set<std::string> common, some;
  for (const KeptRun& run : all[0].runs) common.insert(run.load);
  for (const Series& series : all) {
    std::set<std::string> own;
    for (const KeptRun& run : series.runs) own.insert(run.load);
    std::erase_if(common, [&](const std::string& load) { return !own.contains(load); });
    some.insert(own.begin(), own.end());
  }
  if (common.empty())
    throw std::runtime_error(fmt::format("{} have no load in common: {}", fmt::join(files, " and "), fmt::join(some, "; ")));
  Comparison c;
  c.kept = true;
  c.origin = all[0].origin;
  c.targets = files;
  c.program = fmt::format("{}", fmt::join(common, "; "));
  for (const std::string& load : some)
    if (!common.contains(load)) c.complaints.push_back("left out, as not every file has it: " + load);
  const std::map<std::string, std::string> names = short_names(common);
  unsigned most = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    c.through.push_back(fmt::format("{} runs from {} to {} UTC on {}", all[i].runs.size(), all[i].first, all[i].last,
                                    fmt::join(all[i].targets, ", ")));
    std::map<std::string, unsigned> rounds;
    for (KeptRun& kept : all[i].runs) {
      if (!common.contains(kept.load)) continue;
      if (const std::string& name = names.at(kept.load); !name.empty())
        for (RunRow& row : kept.run.rows) row.name = name + ": " + row.name;
      c.rounds = rounds[kept.load]++;
      c.add(i, kept.run);
      if (!kept.not_whole.empty())
        c.complaints.push_back(fmt::format("round {}, {}: {}", c.rounds + 1, files[i], kept.not_whole));
      most = std::max(most, c.rounds + 1);
    }
  }
  c.asked = c.rounds = most;
  return c;
}

}  // namespace fsr::fsbench
