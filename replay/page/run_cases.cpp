// SPDX-License-Identifier: Apache-2.0
#include "page/run_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fsr::page {

namespace {

std::string rate_text(const ResultRow& run) {
  if (run.real("asked_per_s") > 0) return fmt::format("{:g} calls/s", run.real("asked_per_s"));
  const std::string timing = run.text("timing");
  return timing == "original" ? fmt::format("{:g}x", run.real("scale")) : timing;
}

// Returns a name for a case beside the others. It has more of what makes the case while another has the same name.
std::string name_of(const ResultRow& run, const std::vector<Case>& others) {
  std::string name = label_text(run);
  const std::string input = run.text("input");
  for (const std::string& more : {run.text("target"), input.substr(input.rfind('/') + 1),
                                  fmt::format("{} streams", run.number("streams")), "order " + run.text("ordering")}) {
    if (std::none_of(others.begin(), others.end(), [&](const Case& other) { return other.name == name; })) break;
    name += ", " + more;
  }
  return name;
}

}  // namespace

std::string load_text(const ResultRow& run) {
  const std::string rate = rate_text(run);
  const int64_t clones = run.number("clones");
  return clones <= 1 ? rate : fmt::format("{}{}{} clones", rate, rate.empty() ? "" : ", ", clones);
}

std::string label_text(const ResultRow& run) {
  std::string text = run.text("label").empty() ? run.text("target") : run.text("label");
  return load_text(run).empty() ? text : text + ", " + load_text(run);
}

std::vector<Case> cases_of(const std::vector<ShownRun>& runs) {
  std::vector<Case> cases;
  std::map<std::string, size_t> places;
  for (const ShownRun& run : runs) {
    const ResultRow& row = run.chosen.run;
    const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", row.text("input"), row.text("target"), row.text("label"),
                                        load_text(row), row.text("ordering"), row.number("streams"));
    const auto [at, added] = places.try_emplace(key, cases.size());
    if (added) cases.push_back({name_of(row, cases), {}});
    cases[at->second].runs.push_back(&run);
  }
  return cases;
}

}  // namespace fsr::page
