// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "comparison_text.hpp"

namespace fsr::fsbench {

const char* const kMeaningOfValues =
    "Values are medians. A ratio is the mean of the ratios of all rounds, with the 95 % interval and the sign test's p. Times "
    "are "
    "known to 1.6 %, and no interval is narrower.";
const char* const kMeaningOfVerdict =
    "If targets do not differ, at most 5 % of comparisons show a difference in any row, whatever the number of rows and rounds. "
    "Fewer than three rounds show none.";

namespace {

std::string rate_text(double rate) { return fmt::format("{:.{}f}", rate, rate >= 100 ? 0 : rate >= 1 ? 2 : 4); }

std::string median_text(const ComparedRow& row, size_t target) {
  return bound_text(row, target) + rate_text(spread_of(row, target).median);
}

std::string three_places(double ratio) { return ratio_text(ratio, fmt::format("{:.3f}", ratio)); }

// A printed line that compares a target with the first one.
struct Line {
  std::string name, unit, first, second, ratio, interval, sign, verdict;
};

Line line_of(const ComparedRow& row, size_t target, Decision decision) {
  const PairedRatio paired = row.ratio_of_values(target);
  Line line{row.name, row.unit, median_text(row, 0), median_text(row, target), "-", "-", "-", ""};
  line.verdict = verdict_text(row, target, decision);
  if (row.pairs(target).empty()) return line;
  line.ratio = three_places(paired.ratio);
  line.interval = interval_text(paired);
  line.sign = fmt::format("{:.3f}", paired.sign_p);
  return line;
}

// Returns the cells of a row of a comparison with one target: name, unit, median, lowest and highest.
std::vector<std::string> cells_of(const ComparedRow& row) {
  const Spread spread = spread_of(row, 0);
  return {row.name, row.unit, median_text(row, 0), rate_text(spread.low), rate_text(spread.high)};
}

std::vector<std::string> facts_of(const Comparison& c) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < c.targets.size(); ++i)
    lines.push_back(fmt::format("{}: {} ({})", letter(i), c.targets[i], c.through[i]));
  lines.push_back("Program: " + c.program);
  if (!c.added.empty()) lines.push_back("Added: " + c.added);
  lines.push_back("Rounds: " + rounds_text(c));
  if (c.targets.size() == 1) return lines;
  lines.insert(lines.end(), {kMeaningOfValues, "For times (ms), less is faster.", kMeaningOfVerdict});
  return lines;
}

// Returns facts of a run, under the same names as in a results database.
nlohmann::json json_of(const Facts& facts) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : facts) std::visit([&, &name = name](const auto& v) { object[name] = v; }, value);
  return object;
}

}  // namespace

std::string ratio_text(double ratio, std::string digits) {
  if (ratio > 0 && ratio < 0.001) return "<0.001";
  return ratio >= 10'000 ? ">9,999" : digits;
}

std::string interval_text(const PairedRatio& paired) {
  return paired.rounds > 1 ? fmt::format("{} to {}", three_places(paired.low), three_places(paired.high)) : "-";
}

Spread spread_of(const ComparedRow& row, size_t target) {
  std::vector<double> rates = row.rates[target];
  std::erase(rates, 0.0);
  if (rates.empty()) return {};
  const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
  return {median(rates), *low, *high};
}

std::string verdict_text(const ComparedRow& row, size_t target, Decision decision) {
  const std::vector<RatePair> pairs = row.pairs(target);
  if (pairs.empty()) return fmt::format("measured only on {}", letter(row.rates[0].empty() ? target : 0));
  if (row.has_offered_load(target)) return "offered load, kept by both";
  if (row.has_bounds(target)) return "unknown: calls had no reply";
  return (decision.shown ? fmt::format("{} is ", letter(target)) : "") + verdict_words(pairs, decision.shown, decision.level);
}

std::string rounds_text(const Comparison& c) {
  if (c.kept)
    return fmt::format(
        "{}; kept runs: the first runs of all files are compared, then the second ones, and so on. The runs were not made "
        "in turn, so the difference contains whatever else changed between the series",
        c.rounds);
  std::string order;
  for (size_t i = 0; i < c.targets.size(); ++i) order += letter(i);
  return fmt::format(
      "{}{}{}; {}", c.rounds,
      c.rounds < c.asked && !c.interrupted && c.broken.empty() ? fmt::format(" of {}, as every rate is decided", c.asked) : "",
      order.size() > 1 ? fmt::format(", {} and {} in turn", order, std::string(order.rbegin(), order.rend())) : "", c.caches);
}

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
  const std::vector<std::vector<Decision>> shown = decisions();
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

nlohmann::json Comparison::json() const {
  nlohmann::json list = nlohmann::json::array();
  const std::vector<std::vector<Decision>> shown = decisions();
  for (size_t i = 0; i < rows.size(); ++i) {
    const ComparedRow& row = rows[i];
    nlohmann::json entry = {{"name", row.name},           {"unit", row.unit},
                            {"rates", row.rates},         {"less_is_better", row.is_time},
                            {"lower_bounds", row.bounds}, {"against", nlohmann::json::array()}};
    for (size_t target = 1; target < targets.size(); ++target) {
      const PairedRatio paired = row.ratio_of_values(target);
      entry["against"].push_back({{"target", targets[target]},
                                  {"rounds", paired.rounds},
                                  {"ratio", paired.ratio},
                                  {"low", paired.low},
                                  {"high", paired.high},
                                  {"p", paired.p},
                                  {"sign_p", paired.sign_p},
                                  {"decided", shown[i][target - 1].shown},
                                  {"verdict", line_of(row, target, shown[i][target - 1]).verdict}});
    }
    list.push_back(entry);
  }
  nlohmann::json where = json_of(origin);
  where["load_before"] = load_before;
  where["load_after"] = load_after;
  nlohmann::json contents = nlohmann::json::object();
  for (const NamedText& file : files) contents[file.name] = file.text;
  return {{"program", program},       {"targets", targets},         {"through", through}, {"caches", caches},
          {"added", added},           {"rounds", rounds},           {"asked", asked},     {"rows", list},
          {"complaints", complaints}, {"interrupted", interrupted}, {"broken", broken},   {"environment", where},
          {"files", contents}};
}

void Comparison::database(ResultsDatabase& results) const {
  Facts run = origin;
  run.insert(run.end(), {{"label", std::string("compare")},
                         {"input", program},
                         {"target", fmt::format("{}", fmt::join(targets, " "))},
                         {"not_clean", fmt::format("{}", fmt::join(complaints, "\n"))}});
  results.begin_run(run);
  for (const ComparedRow& row : rows)
    for (size_t target = 0; target < targets.size(); ++target)
      for (size_t round = 0; round < row.rates[target].size(); ++round)
        results.add("compared_rates", {{"name", row.name},
                                       {"unit", row.unit},
                                       {"target", targets[target]},
                                       {"round", int64_t(round + 1)},
                                       {"place", kept ? int64_t(0) : int64_t(place_in(round, target) + 1)},
                                       {"rate", row.rates[target][round]}});
  const std::vector<std::vector<Decision>> shown = decisions();
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t target = 1; target < targets.size(); ++target) {
      const ComparedRow& row = rows[i];
      const PairedRatio paired = row.ratio_of_values(target);
      results.add("compared", {{"name", row.name},
                               {"unit", row.unit},
                               {"first", targets[0]},
                               {"second", targets[target]},
                               {"rounds", int64_t(paired.rounds)},
                               {"asked", int64_t(asked)},
                               {"ratio", paired.ratio},
                               {"low", paired.low},
                               {"high", paired.high},
                               {"sign_p", paired.sign_p},
                               {"verdict", line_of(row, target, shown[i][target - 1]).verdict},
                               {"less_is_better", int64_t(row.is_time)}});
    }
  results.commit();
}

}  // namespace fsr::fsbench
