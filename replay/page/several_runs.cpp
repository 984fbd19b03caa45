// SPDX-License-Identifier: Apache-2.0
#include "page/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "measure/paired.hpp"
#include "util/chart.hpp"
#include "util/units.hpp"

namespace fsr::page {

namespace {

constexpr size_t kMostCases = 8;       // columns of the table of kinds
constexpr size_t kMostDecided = 4;     // sentences about differences between cases
constexpr size_t kMostReasons = 10;    // sentences about runs that were not clean
constexpr double kShownStep = 0.0005;  // of ratios, which have three digits after 1; finer differences are not shown

// Returns the values of the runs of a case that have one, and so none below 0.
template <class Value>
std::vector<double> values_of(const Case& of, Value value) {
  std::vector<double> values;
  for (const ShownRun* run : of.runs)
    if (const double v = value(*run); v >= 0) values.push_back(v);
  return values;
}

// Returns the median, and below it the least and the highest.
Cell median_cell(const std::vector<double>& values, Cell (*cell)(double)) {
  if (values.empty()) return "";
  Cell shown = cell(median(values));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (values.size() > 1) shown.below = cell(*low).text + " to " + cell(*high).text;
  return shown;
}

Cell time_cell(double ns) { return duration(std::llround(ns)); }

// A figure by which runs are compared.
struct Figure {
  const char *name, *what;  // what: a distribution; null: the rate
  Quantile quantile = {};
  std::vector<double> of(const Case& one, bool ended = false) const {  // ended: of no run that goes on
    return values_of(one, [&](const ShownRun& run) {
      const ResultRow* its = what ? run.of("", what) : &run.row;
      return its && !(ended && run.chosen.running) ? its->real(what ? quantile.column : "achieved_per_s") : -1;
    });
  }
  bool is_bound(const Case& one) const {
    return what && std::any_of(one.runs.begin(), one.runs.end(),
                               [&](const ShownRun* run) { return run->is_bound(what, quantile.share); });
  }
};
constexpr Figure kFigures[] = {{"achieved/s", nullptr},
                               {"service, p50", "service", kP50},
                               {"service, p99", "service", kP99},
                               {"response, p50", "response", kP50},
                               {"response, p99", "response", kP99}};

// Returns a ratio, with a step of shade for each factor of two.
Cell shaded(double ratio) {
  const double steps = -std::round(std::log2(std::max(ratio, 1e-6)));
  const int shade = int(std::clamp(steps, -3.0, 3.0));
  return {fmt::format("{:.{}f}", ratio, ratio < 0.1 ? 3 : 2), "", "",
          shade ? fmt::format("{}{}", shade > 0 ? 'x' : 'y', std::abs(shade)) : ""};
}

// Leaves `most` sentences, and one that says how many more there are in the table of `what`.
void shorten(std::vector<std::string>& sentences, size_t most, const char* what) {
  if (sentences.size() <= most) return;
  const std::string more = fmt::format("And {} more, in the table of {}.", sentences.size() - most, what);
  sentences.resize(most);
  sentences.push_back(more);
}

class Page {
 public:
  Page(HtmlPage& page, const std::vector<ShownRun>& runs) : page_(page), runs_(runs), cases_(cases_of(runs)) {}

  void write() {
    const HtmlPage::Table ratios = ratios_of_cases();
    shorten(decided_, kMostDecided, "ratios");
    verdict();
    cases();
    if (!ratios.rows.empty()) write_ratios(ratios);
    write_load_curve(page_, runs_);
    write_distributions(page_, cases_);
    kinds();
    page_.section("differences", "Outcomes that differed");
    write_differences(page_, runs_);
    runs();
    write_environment(page_, runs_);
  }

 private:
  void verdict() {
    std::vector<std::string> reasons;
    std::map<std::string, size_t, std::greater<>> others;  // runs that are not clean, by what they did
    HtmlPage::Mark mark = HtmlPage::Mark::open;
    for (const bool bad : {true, false})  // the bad ones first
      for (const ShownRun& run : runs_) {
        const auto [its, word, verb, reason] = run.ending();
        if ((its == HtmlPage::Mark::bad) != bad) continue;
        if (bad) mark = its;
        if (its != HtmlPage::Mark::good) ++others[verb];
        if (!reason.empty())
          reasons.push_back(fmt::format("Run {}{}, {}: {}{}.", run.chosen.number(), run.chosen.running ? ", so far" : "",
                                        label_text(run.row), run.is_clean() ? word + std::string(": ") : "", reason));
      }
    shorten(reasons, kMostReasons, "all runs");
    if (runs_.back().chosen.running) return page_.verdict(mark, "Still running; figures are those so far.", reasons);
    if (others.empty())
      return page_.verdict(HtmlPage::Mark::good, fmt::format("All {} runs were clean.", runs_.size()), decided_);
    std::string words;
    for (const auto& [verb, count] : others)
      words += words.empty() ? fmt::format("{} of {} runs {}", count, runs_.size(), verb) : fmt::format(", {} {}", count, verb);
    page_.verdict(mark, words + ".", reasons, {"runs", "Every run"});
  }

  void cases() {
    page_.section("cases", "Cases",
                  "Medians of the runs of one target at one load, with the least and the highest below. Response counts from the "
                  "time at which an operation was due. fsreplay report --run N draws the page of one run.");
    HtmlPage::Table t{.caption = "All cases", .headings = {"case", "runs"}, .id = "case-table"};
    for (const Figure& figure : kFigures) t.headings.emplace_back(figure.name);
    for (const Case& one : cases_) {
      const std::string target = one.runs[0]->row.text("target");
      std::vector<Cell>& cells = t.rows.emplace_back(
          std::vector<Cell>{{one.name, "", one.name.starts_with(target) ? "" : target}, count(int64_t(one.runs.size()))});
      for (const Figure& figure : kFigures) {
        cells.push_back(median_cell(figure.of(one), figure.what ? time_cell : rate));
        if (figure.is_bound(one)) cells.back().text.insert(0, "> ");
      }
    }
    page_.table(t);
  }

  // Compares cases of one load with the first of them, where both have enough runs. Keeps what is decided for the verdict.
  HtmlPage::Table ratios_of_cases() {
    auto load_of = [](const Case& one) {
      const ResultRow& run = one.runs[0]->row;
      return std::tuple(run.text("input"), load_text(run), run.text("ordering"), run.number("streams"));
    };
    HtmlPage::Table t{
        .caption = "Ratios to the first case of the same load", .headings = {"case", "to"}, .words = {1}, .id = "ratio-table"};
    for (const Figure& figure : kFigures) t.headings.emplace_back(figure.name);
    for (const Case& one : cases_) {
      const auto first =
          std::find_if(cases_.begin(), cases_.end(), [&](const Case& other) { return load_of(other) == load_of(one); });
      if (&*first == &one) continue;
      std::vector<Cell> row = {one.name, first->name};
      bool any = false;
      std::string decided;
      for (const Figure& figure : kFigures) {
        const auto found = ratio_of(*first, one, figure);
        row.push_back(found && is_clean(*first) && is_clean(one) ? against(*found, figure.what != nullptr) : "-");
        any = any || found;
        if (const Cell& cell = row.back(); cell.looks == "better" || cell.looks == "worse")
          decided += fmt::format("{} {} {} ({})", decided.empty() ? "" : ";", figure.name, cell.text, cell.below);
      }
      if (any) t.rows.push_back(std::move(row));
      if (!decided.empty()) decided_.push_back(fmt::format("{} beside {}:{}. 95 % intervals.", one.name, first->name, decided));
    }
    return t;
  }
  void write_ratios(const HtmlPage::Table& t) {
    page_.note(
        "Ratios of geometric means, with 95 % intervals (Welch), each sure by itself. Bold: better (green) or worse (orange), as "
        "the interval does not hold 1. A dash: fewer than three runs, one that was not clean or not whole, or a time that is a "
        "lower bound.");
    page_.table(t);
  }
  static bool is_clean(const Case& one) {
    return std::all_of(one.runs.begin(), one.runs.end(), [](const ShownRun* run) { return run->is_clean() && run->is_whole(); });
  }
  static std::optional<MeanRatio> ratio_of(const Case& first, const Case& one, const Figure& figure) {
    if (figure.is_bound(first) || figure.is_bound(one)) return std::nullopt;
    const std::vector<double> before = figure.of(first, true), after = figure.of(one, true);
    const double was = median(before), is = median(after);
    return ratio_of_means(before, after, figure.what && was > 0 && is > 0 ? pair_of_percentiles(was, is).resolution : kShownStep);
  }
  static Cell against(const MeanRatio& found, bool less_is_better) {
    auto text = [](double ratio) { return ratio >= 1000 ? count_text(ratio) : fmt::format("{:.4g}", ratio); };
    const std::string low = text(found.low), high = text(found.high);
    // An end that is shown as 1 decides nothing.
    const bool shown = (found.low > 1 && low != text(1)) || (found.high < 1 && high != text(1));
    return {"×" + text(found.ratio), fmt::format("{:.6g}", found.ratio), low + " to " + high,
            !shown                                ? "open"
            : (found.ratio > 1) != less_is_better ? "better"
                                                  : "worse"};
  }

  // Writes a table of service times by kind: of replays, beside what the capture had.
  void kinds() {
    const std::vector<std::string> recorded = kinds_by_time("recorded"), all = kinds_by_time("service");
    page_.section("kinds", "By kind of operation");
    if (!recorded.empty()) kinds(recorded, true);
    kinds(all, false);
  }
  // Returns the kinds that have such a distribution, that with the most time in all runs first.
  std::vector<std::string> kinds_by_time(std::string_view what) const {
    std::map<std::string, double> times;
    for (const ShownRun& run : runs_)
      for (const ResultRow& row : run.distributions)
        if (const std::string kind = row.text("kind"); row.text("what") == what && !kind.empty())
          times[kind] += run.time_of(kind, what);
    std::vector<std::string> names;
    for (const auto& [name, time] : times) names.push_back(name);
    std::stable_sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return times[a] > times[b]; });
    return names;
  }
  void kinds(const std::vector<std::string>& names, bool ratios) {
    auto values = [ratios](const Case& of, const std::string& kind) {
      return values_of(of, [&](const ShownRun& run) {
        const ResultRow *is = run.of(kind, "service"), *was = run.of(kind, "recorded");
        if (!is || (ratios && (!was || was->number("p50_ns") <= 0))) return -1.0;
        return is->real("p50_ns") / (ratios ? was->real("p50_ns") : 1);
      });
    };
    HtmlPage::Table t{.caption = ratios ? "Service, p50, over that of the capture" : "Service, p50", .headings = {"kind"}};
    t.folded = ratios ? "" : "Service, p50 by kind";
    for (const std::string& kind : names) t.rows.push_back({kind});
    size_t columns = 0;
    for (const Case& one : cases_) {
      std::vector<Cell> cells;
      for (const std::string& kind : names)
        cells.push_back(below(median_cell(values(one, kind), ratios ? shaded : time_cell), ""));
      if (std::all_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.text.empty(); })) continue;
      if (++columns > kMostCases) continue;
      t.headings.push_back(one.name);
      for (size_t i = 0; i < cells.size(); ++i) t.rows[i].push_back(cells[i]);
    }
    if (!columns) return;
    if (ratios)
      page_.note(
          "Blue is shorter than in the capture, orange longer. Each shade is a factor of two. Sorted by the time in the "
          "capture.");
    page_.table(t);
    if (columns > kMostCases) page_.note(fmt::format("{} more cases are not in this table.", columns - kMostCases));
  }

  void runs() {
    page_.section("runs", "Every run");
    HtmlPage::Table t{
        .caption = "All runs",
        .headings = {"run", "started", "offered/s", "achieved/s", "p50", "p99", "p99.9", "differed", "failed", "verdict"},
        .words = {9},
        .id = "run-table"};
    if (cases_.size() < runs_.size()) t.folded = fmt::format("All {} runs", runs_.size());
    for (const ShownRun& run : runs_) {
      const ResultRow& row = run.row;
      t.rows.push_back({fmt::format("run {}, {}", run.chosen.number(), label_text(row)), row.text("started"),
                        rate(row.real("offered_per_s")), rate(row.real("achieved_per_s")), run.time("response", kP50),
                        run.time("response", kP99), run.time("response", kP999), shown(row, "differed"), shown(row, "failed"),
                        run.ending().word});
    }
    page_.table(t);
  }

  HtmlPage& page_;
  const std::vector<ShownRun>& runs_;
  const std::vector<Case> cases_;
  std::vector<std::string> decided_;  // sentences
};

}  // namespace

void write_runs(HtmlPage& page, const std::vector<ShownRun>& runs) { Page(page, runs).write(); }

}  // namespace fsr::page
