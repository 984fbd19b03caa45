// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "comparison.hpp"
#include "util/html_page.hpp"

namespace fsr::fsbench {

namespace {

char letter(size_t target) { return char('A' + target); }

std::string rate_text(double rate) { return fmt::format("{:.{}f}", rate, rate >= 100 ? 0 : rate >= 1 ? 2 : 4); }

std::string interval_text(const PairedRatio& paired) {
  return paired.rounds > 1 ? fmt::format("{:.3f} to {:.3f}", paired.low, paired.high) : "-";
}

double median_of(const ComparedRow& row, size_t target) {
  std::vector<double> rates = row.rates[target];
  std::erase(rates, 0.0);
  return median(rates);
}

// A printed line that compares a target with the first.
struct Line {
  std::string name, unit, first, second, ratio, interval, sign, verdict;
};

Line line_of(const ComparedRow& row, size_t target, bool decided) {
  const std::vector<RatePair> pairs = row.pairs(target);
  const PairedRatio paired = row.ratio_of_values(target);
  Line line{row.name, row.unit, rate_text(median_of(row, 0)), rate_text(median_of(row, target)), "-", "-", "-", ""};
  if (pairs.empty()) {
    line.verdict = fmt::format("measured on {} alone", letter(row.rates[0].empty() ? target : 0));
    return line;
  }
  line.ratio = fmt::format("{:.3f}", paired.ratio);
  line.interval = interval_text(paired);
  line.sign = fmt::format("{:.3f}", paired.sign_p);
  if (row.has_offered_load(target))
    line.verdict = "offered load, kept by both";
  else
    line.verdict = (decided ? fmt::format("{} is ", letter(target)) : "") + verdict_words(pairs, decided);
  return line;
}

// The cells of a row where there is one target: name, unit, median, lowest and highest.
std::vector<std::string> cells_of(const ComparedRow& row) {
  const auto [low, high] = std::minmax_element(row.rates[0].begin(), row.rates[0].end());
  return {row.name, row.unit, rate_text(median_of(row, 0)), rate_text(*low), rate_text(*high)};
}

std::vector<std::string> facts_of(const Comparison& c) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < c.targets.size(); ++i)
    lines.push_back(fmt::format("{}: {} ({})", letter(i), c.targets[i], c.through[i]));
  lines.push_back("Program: " + c.program);
  if (!c.added.empty()) lines.push_back("Added: " + c.added);
  std::string order;
  for (size_t i = 0; i < c.targets.size(); ++i) order += letter(i);
  lines.push_back(fmt::format(
      "Rounds: {}{}{}; {}", c.rounds,
      c.rounds < c.asked && !c.interrupted && c.broken.empty() ? fmt::format(" of {}, as every rate is decided", c.asked) : "",
      order.size() > 1 ? fmt::format(", {} and {} in turn", order, std::string(order.rbegin(), order.rend())) : "", c.caches));
  if (c.targets.size() == 1) return lines;
  lines.push_back("Values are medians; a ratio is the mean of the rounds' own, with its 95 % interval and the sign test's p.");
  lines.push_back("Of times (ms) less is faster.");
  lines.push_back(
      "Where there is no difference, a verdict says otherwise in at most 5 % of all comparisons, whatever their rows and "
      "rounds.");
  return lines;
}

}  // namespace

std::string Comparison::text() const {
  std::string all;
  for (const std::string& fact : facts_of(*this)) all += fact + "\n";
  size_t widest = 14;
  for (const ComparedRow& row : rows) widest = std::max(widest, row.name.size());
  if (targets.size() == 1) {
    all += fmt::format("\n{:<{}}  {:<16}{:>12}{:>12}{:>12}\n", "", widest, "unit", "median", "lowest", "highest");
    for (const ComparedRow& row : rows) {
      const std::vector<std::string> cells = cells_of(row);
      all += fmt::format("{:<{}}  {:<16}{:>12}{:>12}{:>12}\n", cells[0], widest, cells[1], cells[2], cells[3], cells[4]);
    }
  }
  const std::vector<std::vector<bool>> shown = decisions();
  for (size_t target = 1; target < targets.size(); ++target) {
    const std::string a(1, letter(0)), b(1, letter(target));
    all += fmt::format("\n{:<{}}  {:<16}{:>12}{:>12}{:>9}  {:<18}{:>6}  {}\n", "", widest, "unit", a, b, b + "/" + a,
                       "95 % interval", "sign", "verdict");
    for (size_t i = 0; i < rows.size(); ++i) {
      const Line l = line_of(rows[i], target, shown[i][target - 1]);
      all += fmt::format("{:<{}}  {:<16}{:>12}{:>12}{:>9}  {:<18}{:>6}  {}\n", l.name, widest, l.unit, l.first, l.second, l.ratio,
                         l.interval, l.sign, l.verdict);
    }
  }
  if (!complaints.empty()) all += "\n";
  for (const std::string& complaint : complaints) all += complaint + "\n";
  return all;
}

std::string Comparison::html() const {
  HtmlPage page("Comparison of targets");
  for (const std::string& fact : facts_of(*this)) page.paragraph(fact);
  if (targets.size() == 1) {
    HtmlPage::Table table;
    table.headings = {"What", "Unit", "Median", "Lowest", "Highest"};
    table.text_columns = true;
    for (const ComparedRow& row : rows) {
      const std::vector<std::string> cells = cells_of(row);
      table.rows.emplace_back(cells.begin(), cells.end());
    }
    page.table(table);
  }
  const std::vector<std::vector<bool>> shown = decisions();
  for (size_t target = 1; target < targets.size(); ++target) {
    const std::string a(1, letter(0)), b(1, letter(target));
    page.section("against-" + b, targets[target] + " against " + targets[0]);
    HtmlPage::Table table;
    table.caption = b + " against " + a;
    table.headings = {"What", "Unit", a, b, b + "/" + a, "95 % interval", "Sign test", "Verdict"};
    table.text_columns = true;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Line l = line_of(rows[i], target, shown[i][target - 1]);
      table.rows.push_back({l.name, l.unit, l.first, l.second, l.ratio, l.interval, l.sign, l.verdict});
    }
    page.table(table);
  }
  if (!complaints.empty()) page.section("complaints", "Runs that did not end well");
  for (const std::string& complaint : complaints) page.paragraph(complaint);
  return page.finish();
}

nlohmann::json Comparison::json() const {
  nlohmann::json list = nlohmann::json::array();
  const std::vector<std::vector<bool>> shown = decisions();
  for (size_t i = 0; i < rows.size(); ++i) {
    const ComparedRow& row = rows[i];
    nlohmann::json entry = {{"name", row.name},
                            {"unit", row.unit},
                            {"rates", row.rates},
                            {"less_is_better", row.is_time},
                            {"against", nlohmann::json::array()}};
    for (size_t target = 1; target < targets.size(); ++target) {
      const PairedRatio paired = row.ratio_of_values(target);
      entry["against"].push_back({{"target", targets[target]},
                                  {"rounds", paired.rounds},
                                  {"ratio", paired.ratio},
                                  {"low", paired.low},
                                  {"high", paired.high},
                                  {"p", paired.p},
                                  {"sign_p", paired.sign_p},
                                  {"decided", bool(shown[i][target - 1])},
                                  {"verdict", line_of(row, target, shown[i][target - 1]).verdict}});
    }
    list.push_back(entry);
  }
  return {{"program", program},       {"targets", targets},         {"through", through}, {"caches", caches},
          {"added", added},           {"rounds", rounds},           {"asked", asked},     {"rows", list},
          {"complaints", complaints}, {"interrupted", interrupted}, {"broken", broken}};
}

void Comparison::database(ResultsDatabase& results) const {
  const std::time_t now = std::time(nullptr);
  results.begin_run({{"label", std::string("compare")},
                     {"started", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(now))},
                     {"command", program},
                     {"target", fmt::format("{}", fmt::join(targets, " "))}});
  for (const ComparedRow& row : rows)
    for (size_t target = 0; target < targets.size(); ++target)
      for (size_t round = 0; round < row.rates[target].size(); ++round)
        results.add("compared_rates", {{"name", row.name},
                                       {"unit", row.unit},
                                       {"target", targets[target]},
                                       {"round", int64_t(round + 1)},
                                       {"rate", row.rates[target][round]}});
  const std::vector<std::vector<bool>> shown = decisions();
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t target = 1; target < targets.size(); ++target) {
      const ComparedRow& row = rows[i];
      const PairedRatio paired = row.ratio_of_values(target);
      results.add("compared", {{"name", row.name},
                               {"unit", row.unit},
                               {"first", targets[0]},
                               {"second", targets[target]},
                               {"rounds", int64_t(paired.rounds)},
                               {"ratio", paired.ratio},
                               {"low", paired.low},
                               {"high", paired.high},
                               {"sign_p", paired.sign_p},
                               {"verdict", line_of(row, target, shown[i][target - 1]).verdict}});
    }
  results.commit();
}

}  // namespace fsr::fsbench
