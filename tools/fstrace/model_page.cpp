// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "model_text.hpp"
#include "report_sections.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kMostNamed = 4;  // kinds of operations that a class is described by

// Numbers of processes by class, in one run.
using Partners = std::map<uint32_t, double>;

struct ClassFacts {
  std::map<OpKind, double> kinds;  // operations in one run
  double failed = 0;               // operations that failed
  Partners starts, awaits;
};

std::vector<ClassFacts> facts_of(const LoadModel& model) {
  std::vector<ClassFacts> facts(model.classes.size());
  each_symbol(model, [&](uint32_t number, SymbolId symbol, double n) {
    ClassFacts& its = facts[number];
    const Symbol& s = model.symbols[symbol - 1];
    if (s.is_process_step()) {
      (s.process_step() == ProcessStep::starts ? its.starts : its.awaits)[s.argument] += n;
    } else {
      its.kinds[s.kind] += n;
      if (s.error) its.failed += n;
    }
  });
  return facts;
}

std::string amount(double n) { return fmt::format("{:.3g}", n); }

std::string most_frequent(const ClassFacts& facts, double operations) {
  if (operations <= 0) return "none: it only starts others";
  std::vector<std::pair<double, OpKind>> sorted;
  for (const auto& [kind, n] : facts.kinds) sorted.emplace_back(n, kind);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (size_t i = 0; i < std::min(kMostNamed, sorted.size()); ++i)
    text += fmt::format("{}{} {:.0f} %", i ? ", " : "", op_name(sorted[i].second), sorted[i].first * 100 / operations);
  return text;
}

std::string partners(const LoadModel& model, const Partners& partners) {
  std::string text;
  for (const auto& [number, n] : partners)
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", amount(n), model.classes[number].command);
  return text;
}

void add_processes(HtmlPage& page, const LoadModel& model) {
  const std::vector<ClassFacts> facts = facts_of(model);
  page.section("processes", "Who does what",
               "A class has processes of one program that do the same things. The bar is its share of the operations.");
  HtmlPage::Table what{.caption = "Classes of processes in one run",
                       .headings = {"class", "processes", "at once", "operations", "of each", "failed", "most frequent"},
                       .words = {6},
                       .id = "classes-table"};
  HtmlPage::Table who{.caption = "Who starts whom, and who waits for whom",
                      .headings = {"class", "started by", "starts", "waits for the end"},
                      .text_columns = true,
                      .id = "starts-table"};
  bool related = false;
  for (uint32_t i = 0; i < model.classes.size(); ++i) {
    const ProcessClass& c = model.classes[i];
    const double share = std::min(1.0, c.operations / std::max(1.0, double(model.operations)));
    what.rows.push_back({HtmlPage::Cell::barred(c.command, share), amount(c.processes), count_cell(c.at_once),
                         count_cell(uint64_t(c.operations + 0.5)), amount(c.operations / c.processes),
                         fmt::format("{:.1f} %", facts[i].failed * 100 / std::max(1.0, c.operations)),
                         most_frequent(facts[i], c.operations)});
    std::string by;
    for (uint32_t k = 0; k < model.classes.size(); ++k)
      if (facts[k].starts.contains(i)) by += (by.empty() ? "" : ", ") + model.classes[k].command;
    if (c.roots > 0) by += fmt::format("{}{} at a time of its own", by.empty() ? "" : ", ", amount(c.roots));
    who.rows.push_back({c.command, by, partners(model, facts[i].starts), partners(model, facts[i].awaits)});
    related |= !facts[i].starts.empty();
  }
  page.table(what);
  if (related)
    page.table(who);
  else
    page.paragraph("No process starts another one, as far as the traces show.");
}

void add_distances(HtmlPage& page, const LoadModel& model) {
  page.section("own", "How much the load differs from itself");
  if (model.between_runs.empty()) return;
  page.paragraph(
      "Distances between two runs of the load: 0 is equal, 1 has nothing in common. A run of the model can't be nearer.");
  HtmlPage::Table t{.caption = "Distances between runs", .headings = {"distance", "mean"}, .id = "own-table"};
  for (const auto& [aspect, distance] : model.between_runs)
    t.rows.push_back({HtmlPage::Cell::barred(aspect, std::clamp(distance, 0.0, 1.0)), fmt::format("{:.3f}", distance)});
  page.table(t);
}

}  // namespace

void add_model_sections(HtmlPage& page, const LoadModel& model) {
  page.section("model", "The model");
  double processes = 0;
  for (const ProcessClass& c : model.classes)
    if (c.operations > 0) processes += c.processes;
  page.paragraph(
      fmt::format("{} operations of {} processes in {}, learned from {} trace{} by {}. The other sections show one run of it.",
                  format_count(model.operations), amount(processes), format_duration(model.span), model.runs,
                  model.runs == 1 ? "" : "s", model.program));
  page.tiles({{"operations", count_cell(model.operations)},
              {"processes", amount(processes)},
              {"time", duration_cell(model.span)},
              {"content", content_text(model)},
              {"often used names", count_cell(model.hot.size())},
              {"left out", count_cell(model.dropped)}});
  add_processes(page, model);
  add_distances(page, model);
}

}  // namespace fsr::fstrace
