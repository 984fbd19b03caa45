// SPDX-License-Identifier: Apache-2.0
// The page of a comparison: the verdict, bars of all rows, the values of each round, and how they were measured.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "comparison_text.hpp"
#include "util/chart.hpp"
#include "util/html_page.hpp"
#include "util/strips.hpp"
#include "util/units.hpp"

namespace fsr::fsbench {

namespace {

constexpr size_t kMostNamed = 6;  // rows that a sentence of a verdict names

// Returns a number with separators, and with the digits that matter for a comparison.
std::string number_text(double value) {
  if (value >= 100 && value < 1e18) return format_count(uint64_t(std::llround(value)));
  return fmt::format("{:.{}f}", value, value >= 1 ? 2 : 4);
}
std::string short_ratio(double ratio) {
  return ratio_text(ratio, ratio >= 1000 ? format_count(uint64_t(std::llround(ratio))) : fmt::format("{:.3g}", ratio));
}
// Returns the label of an axis: 100, 10k, 1M.
std::string axis_text(double value) {
  for (const auto& [unit, letter] : {std::pair(1e9, "G"), {1e6, "M"}, {1e3, "k"}})
    if (value >= unit) return fmt::format("{:.3g}{}", value / unit, letter);
  return fmt::format("{:.3g}", value);
}

std::string named(const Comparison& c, size_t target) { return fmt::format("{}, {}", letter(target), c.targets[target]); }
std::string first_word(const std::string& text) { return text.substr(0, text.find_first_of(" ,")); }

RatioBar bar_of(const ComparedRow& row, size_t target, bool decided) {
  const PairedRatio speeds = paired_ratio(row.pairs(target));
  RatioBar bar{.middle = speeds.ratio, .decided = decided};
  if (speeds.rounds > 1) bar.low = speeds.low, bar.high = speeds.high;
  for (const RatePair& pair : row.pairs(target)) bar.rounds.push_back(pair.second / pair.first);
  return bar;
}

HtmlPage::Cell median_cell(const ComparedRow& row, size_t target) {
  return row.rates[target].empty() ? "-" : bound_text(row, target) + number_text(spread_of(row, target).median);
}
// Returns the ratio in words, without its target: "is 2.1 times as fast".
std::string ratio_words(const ComparedRow& row, const PairedRatio& values) {
  return fmt::format(fmt::runtime(row.is_time ? "takes {} times as long" : "is {} times as fast"), short_ratio(values.ratio));
}
std::string interval_of(const PairedRatio& values) {
  return values.rounds > 1 ? fmt::format("{} to {}", short_ratio(values.low), short_ratio(values.high)) : "no interval";
}
HtmlPage::Cell verdict_cell(const ComparedRow& row, size_t target, const RatioBar& bar, Decision decision) {
  std::string text = verdict_text(row, target, decision);
  constexpr std::string_view kUndecided = "no difference that could be shown";
  if (text.starts_with(kUndecided)) text.replace(0, kUndecided.size(), "not decided");
  const PairedRatio values = row.ratio_of_values(target);
  const char* sign = !bar.decided ? "∼" : bar.middle > 1 ? "▲" : "▼";
  std::string small;
  if (values.rounds)
    small = fmt::format("{}{}; sign test {:.3f}", bar.decided ? "" : "×" + short_ratio(values.ratio) + ", ", interval_of(values),
                        values.sign_p);
  return {fmt::format("{} {}", sign, bar.decided ? fmt::format("{} {}", letter(target), ratio_words(row, values)) : text), "",
          small, std::string(ratio_class(bar))};
}

class PageOfComparison {
 public:
  explicit PageOfComparison(const Comparison& comparison)
      : c_(comparison), shown_(comparison.decisions()), page_(title(comparison)) {}

  std::string text() {
    sub();
    for (size_t target = 1; target < c_.targets.size(); ++target) verdict(target);
    if (c_.targets.size() == 1) medians();
    for (size_t target = 1; target < c_.targets.size(); ++target) rows(target);
    rounds();
    page_.section("complaints", "Runs that did not end well");
    for (const std::string& complaint : c_.complaints) page_.paragraph(complaint);
    measured();
    return page_.finish();
  }

 private:
  static std::string title(const Comparison& c) {
    if (c.targets.size() == 1) return fmt::format("{} on {}", first_word(c.program), c.targets[0]);
    std::vector<std::string> others;
    for (size_t i = 1; i < c.targets.size(); ++i) others.push_back(named(c, i));
    return fmt::format("{}: {}, against {}", first_word(c.program), fmt::join(others, "; "), named(c, 0));
  }

  std::string origin(std::string_view name) const {
    for (const auto& [key, value] : c_.origin)
      if (key == name) return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
    return "";
  }

  void sub() { page_.note(fmt::format("{} UTC · {} rounds · {}", origin("started"), c_.rounds, c_.program)); }

  // Reports the verdict for one target: the rows that are decided, and those that are not.
  void verdict(size_t target) {
    std::vector<std::string> names[2][3];  // of rates and of times: faster, slower, not decided; with ratios and intervals
    std::string first;                     // the first rate that is decided, in words
    const char b = letter(target);
    for (size_t i = 0; i < c_.rows.size(); ++i) {
      const ComparedRow& row = c_.rows[i];
      if (!row.is_judged(target)) continue;
      const size_t verdict = !shown_[i][target - 1].shown ? 2 : paired_ratio(row.pairs(target)).ratio > 1 ? 0 : 1;
      const PairedRatio values = row.ratio_of_values(target);
      names[row.is_time][verdict].push_back(fmt::format("{} ×{} ({})", row.name, short_ratio(values.ratio), interval_of(values)));
      if (!row.is_time && verdict < 2 && first.empty())
        first = fmt::format(" {}: {} {} as {} (95 % interval {}).", row.name, b, ratio_words(row, values), letter(0),
                            interval_of(values));
    }
    const auto& [rates, times] = names;
    const bool rate = rates[0].size() + rates[1].size(), time = times[0].size() + times[1].size();
    HtmlPage::Mark mark = HtmlPage::Mark::open;
    std::string words;
    if (rate && rates[2].empty())
      mark = HtmlPage::Mark::good, words = "Every rate is decided";
    else if (rate)
      words = "Some rates are decided";
    else if (time)
      words = rates[2].empty() ? "Some response times are decided." : "Some response times are decided, but no rate.";
    else if (rates[2].size() + times[2].size())
      words = "No difference that could be shown.";
    else
      mark = HtmlPage::Mark::bad, words = "Nothing can be said.";
    if (rate) words += fmt::format(": {} faster, {} slower.", rates[0].size(), rates[1].size()) + first;
    std::vector<std::string> sentences;
    for (const auto& [what, which] : {std::pair(fmt::format("Faster on {}", b), &rates[0]),
                                      {fmt::format("Slower on {}", b), &rates[1]},
                                      {std::string("Not decided"), &rates[2]},
                                      {fmt::format("Response times shorter on {}", b), &times[0]},
                                      {fmt::format("Response times longer on {}", b), &times[1]}}) {
      if (which->empty()) continue;
      const size_t named = std::min(which->size(), kMostNamed), more = which->size() - named;
      sentences.push_back(fmt::format("{}: {}{}.", what, fmt::join(which->begin(), which->begin() + long(named), ", "),
                                      more ? fmt::format(", and {} more below", more) : ""));
    }
    if (!times[2].empty()) sentences.push_back(fmt::format("Response times not decided: {}.", times[2].size()));
    page_.verdict(mark, c_.targets.size() > 2 ? fmt::format("{}: {}", b, words) : words, sentences,
                  c_.complaints.empty() ? HtmlPage::Link{} : HtmlPage::Link{"complaints", "Runs that did not end well"});
  }

  void medians() {
    page_.section("rows", "Every row");
    HtmlPage::Table table{.caption = "Of all rounds", .headings = {"what", "unit", "median", "lowest", "highest"}, .words = {1}};
    for (const ComparedRow& row : c_.rows) {
      const Spread spread = spread_of(row, 0);
      table.rows.push_back({row.name, row.unit, median_cell(row, 0), number_text(spread.low), number_text(spread.high)});
    }
    page_.table(table);
  }

  void rows(size_t target) {
    const std::string a(1, letter(0)), b(1, letter(target));
    page_.section(
        "against-" + b, fmt::format("{} against {}", named(c_, target), named(c_, 0)),
        "A bar is the 95 % interval of the ratio, and the mark in the bar the mean. Dots are the ratios of single rounds. A "
        "filled bar is a difference that is shown. The scale is logarithmic. Below a verdict: the interval of the ratio, and the "
        "p of "
        "a sign test.");
    std::vector<RatioBar> bars;
    for (size_t i = 0; i < c_.rows.size(); ++i) bars.push_back(bar_of(c_.rows[i], target, shown_[i][target - 1].shown));
    const StripScale scale = StripScale::of_ratios(bars);
    for (const bool times : {false, true}) {
      HtmlPage::Table table{.caption = times ? "Response times: to the right, shorter" : "Rates",
                            .headings = {"what", "", a, b, "verdict"},
                            .words = {4},
                            .pictures = 1,
                            .scale = scale.axis("← " + a + " is faster", b + " is faster →")};
      for (size_t i = 0; i < c_.rows.size(); ++i)
        if (const ComparedRow& row = c_.rows[i]; row.is_time == times)
          table.rows.push_back({HtmlPage::Cell(row.name, "", row.unit), HtmlPage::Cell::drawn(scale.ratio(bars[i])),
                                median_cell(row, 0), median_cell(row, target),
                                verdict_cell(row, target, bars[i], shown_[i][target - 1])});
      page_.table(table);
    }
  }

  void rounds() {
    page_.section("rounds", "Every round",
                  "In the order in which they ran: drift, warming caches and outliers show here. The scale is logarithmic.");
    HtmlPage::Table table{
        .caption = "Values of each round", .headings = {"what", "unit", "of"}, .words = {1}, .folded = "These values as a table"};
    for (unsigned round = 1; round <= c_.rounds; ++round) table.headings.push_back(fmt::format("{}", round));
    std::vector<HtmlPage::Small> drawings;
    for (const ComparedRow& row : c_.rows) {
      Chart chart{.title = row.name + ", " + row.unit, .x_label = "round", .y_label = row.unit, .log_y = true};
      chart.titled = false;  // a long title would be cut
      chart.width = 300;     // several beside each other
      chart.height = 180;
      chart.x_text = [](double round) { return round >= 1 && round == std::floor(round) ? fmt::format("{}", round) : ""; };
      chart.y_text = axis_text;
      for (size_t target = 0; target < c_.targets.size(); ++target) {
        // Draws B in blue.
        ChartSeries series{.name = std::string(1, letter(target)), .colour = target < 2 ? 1 - int(target) : int(target)};
        series.square = target == 0;
        std::vector<HtmlPage::Cell> cells = {row.name, row.unit, series.name};
        for (size_t round = 0; round < c_.rounds; ++round) {
          const double value = round < row.rates[target].size() ? row.rates[target][round] : 0;
          cells.emplace_back(value > 0 ? number_text(value) : "-");
          series.points.push_back({double(round + 1), value > 0 ? value : kGap});
        }
        table.rows.push_back(cells);
        chart.series.push_back(std::move(series));
      }
      drawings.push_back({chart.title, chart_svg(chart)});
    }
    page_.small_multiples(drawings);
    page_.table(table);
  }

  void measured() {
    page_.section("env", "How the rates were measured");
    HtmlPage::Values facts;
    for (size_t i = 0; i < c_.targets.size(); ++i)
      facts.emplace_back(std::string(1, letter(i)), fmt::format("{} ({})", c_.targets[i], c_.through[i]));
    facts.insert(facts.end(), {{"program", c_.program}, {"added", c_.added}, {"rounds", rounds_text(c_)}});
    if (c_.targets.size() > 1) facts.insert(facts.end(), {{"values", kMeaningOfValues}, {"verdicts", kMeaningOfVerdict}});
    facts.insert(
        facts.end(),
        {{"measured by", origin("program")},
         {"started", origin("started") + " UTC"},
         {"host", origin("host")},
         {"kernel", origin("kernel")},
         {"processors", fmt::format("{} × {}", origin("cpus"), origin("cpu"))},
         {"load", c_.kept ? "" : fmt::format("{:.2f} before, {:.2f} after (mean of a minute)", c_.load_before, c_.load_after)},
         {"directory", fmt::format("{} ({})", origin("directory"), origin("directory_mount"))}});
    page_.facts("env-list", facts);
    for (const NamedText& file : c_.files)
      page_.markup(fmt::format("<h3>{}</h3>\n<pre>{}</pre>\n", xml_text(file.name), xml_lines(file.text)));
  }

  const Comparison& c_;
  const std::vector<std::vector<Decision>> shown_;
  HtmlPage page_;
};

}  // namespace

std::string Comparison::html() const { return PageOfComparison(*this).text(); }

}  // namespace fsr::fsbench
