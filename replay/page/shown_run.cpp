// SPDX-License-Identifier: Apache-2.0
#include "page/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "measure/bound.hpp"
#include "measure/stood_still.hpp"
#include "util/units.hpp"

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

Cell marked(bool bound, int64_t ns) { return {(bound ? "> " : "") + format_duration(ns), std::to_string(ns)}; }

}  // namespace

std::string ratio_text(double is, double was) {
  if (was <= 0) return "";
  const double ratio = is / was;
  if (ratio >= 1000) return count_text(ratio);
  return ratio < 0.1 ? fmt::format("{:.2g}", ratio) : fmt::format("{:.2f}", ratio);
}

Cell shown(const ResultRow& row, const std::string& name) {
  if (const std::string text = row.text(name); !text.empty()) return text;
  if (name == "name" && row.has("object")) return fmt::format("object {}", row.number("object"));
  if (row.is_text(name) || !row.has(name) || (name == "recorded_ns" && row.number(name) == 0)) return "";
  if (name.ends_with("_percent")) return fmt::format("{:.2f}", row.real(name));
  return name.ends_with("_ns") ? duration(row.number(name)) : count(row.number(name));
}

Columns columns_of(std::string_view text) {
  Columns columns;
  for (size_t end; !text.empty(); text.remove_prefix(std::min(text.size(), end + 2))) {
    end = std::min(text.find("; "), text.size());
    const size_t colon = text.find(": ");
    columns.emplace_back(text.substr(0, colon), text.substr(colon + 2, end - colon - 2));
  }
  return columns;
}

HtmlPage::Table filled(HtmlPage::Table form, const Rows& rows, std::string_view columns) {
  form.rows.resize(rows.size());
  for (const auto& [heading, name] : columns_of(columns)) {
    form.headings.push_back(heading);
    for (size_t i = 0; i < rows.size(); ++i) form.rows[i].push_back(shown(rows[i], name));
  }
  return form;
}

ShownRun::ShownRun(const ChosenRun& of)
    : chosen(of),
      row(of.run),
      id(row.number("id")),
      distributions(rows("distributions")),
      responses_(histogram("", "response")),
      open_(histogram("", "open")) {}

const ResultRow* ShownRun::of(std::string_view kind, std::string_view what) const {
  auto it = std::find_if(distributions.begin(), distributions.end(),
                         [&](const ResultRow& r) { return r.text("kind") == kind && r.text("what") == what; });
  return it == distributions.end() ? nullptr : &*it;
}

Cell ShownRun::time(std::string_view what, const Quantile& q) const {
  const ResultRow* its = of("", what);
  return its ? marked(is_bound(what, q.share), its->number(q.column)) : "";
}

Cell ShownRun::mean(std::string_view what) const {
  const ResultRow* its = of("", what);
  return its ? marked(what == "response" && is_lower_bound_of_mean(responses_, open_), its->number("mean_ns")) : "";
}

bool ShownRun::is_bound(std::string_view what, double share) const {
  return what == "response" && is_lower_bound(responses_, open_, share);
}

double ShownRun::time_of(std::string_view kind, std::string_view what) const {
  const ResultRow* its = of(kind, what);
  return its ? its->real("mean_ns") * its->real("count") : 0;
}

Cell below(Cell cell, std::string text) {
  cell.below = std::move(text);
  return cell;
}

Cell beside_recorded(const ResultRow& service, const ResultRow* recorded, const char* column, const char* word) {
  const int64_t is = service.number(column), was = recorded ? recorded->number(column) : 0;
  return below(duration(is), was > 0 ? format_duration(was) + word + ", ×" + ratio_text(double(is), double(was)) : "");
}

bool ShownRun::was_delayed() const {
  return row.number("overdue") + row.number("unanswered") + row.number("violations") > 0 ||
         row.real("stood_still_ns") > row.real("elapsed_ns") * kMostStoodStill;
}

ShownRun::Ending ShownRun::ending() const {
  using Mark = HtmlPage::Mark;
  std::string reasons = row.text("not_clean");
  const auto add = [&](const std::string& text) { reasons += (reasons.empty() ? "" : "\n") + text; };
  const std::string issued =
      fmt::format("{} of {} operations were issued", shown(row, "issued").text, shown(row, "operations").text);
  if (!is_clean() && !is_whole()) add(issued);
  if (misses_requirement()) add(row.text("requirements_missed"));
  for (size_t at; (at = reasons.find('\n')) != reasons.npos;) reasons.replace(at, 1, "; ");
  if (chosen.running) return {is_clean() ? Mark::open : Mark::bad, "running", "are running", reasons};
  if (!is_clean()) return {Mark::bad, "not clean", "were not clean", reasons};
  if (misses_requirement()) return {Mark::bad, "requirement missed", "missed a requirement", reasons};
  if (is_whole()) return {Mark::good, "clean", "were clean", ""};
  const bool early = row.number("cancelled") > 0;
  return {Mark::open, early ? "ended early" : "clean, with operations left out", early ? "ended early" : "left operations out",
          issued + "; every outcome was as expected"};
}

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
    const ResultRow& row = run.row;
    const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", row.text("input"), row.text("target"), row.text("label"),
                                        load_text(row), row.text("ordering"), row.number("streams"));
    const auto [at, added] = places.try_emplace(key, cases.size());
    if (added) cases.push_back({name_of(row, cases), {}});
    cases[at->second].runs.push_back(&run);
  }
  return cases;
}

}  // namespace fsr::page
