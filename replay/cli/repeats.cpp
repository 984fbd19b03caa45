// SPDX-License-Identifier: Apache-2.0
// Runs an input several times: --repeat and --find-scale. Each run begins with the tree of the image, on a target that was opened
// again. A line reports each run as soon as it is over.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/replay.hpp"
#include "cycle/condition.hpp"
#include "cycle/scale_search.hpp"
#include "engine/run_merge.hpp"
#include "measure/bound.hpp"
#include "measure/paired.hpp"
#include "trace/bytes.hpp"
#include "util/standard_streams.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

// Section that adds one member to the JSON report.
class Member final : public ReportSection {
 public:
  Member(std::string name, nlohmann::json value) : name_(std::move(name)), value_(std::move(value)) {}
  void facts(Facts&) const override {}
  void json(nlohmann::json& document) const override { document[name_] = value_; }

 private:
  const std::string name_;
  const nlohmann::json value_;
};

struct Figure {
  const char* name;  // its name in the results
  double (*of)(const RunResult& run);
  std::string (*text)(double value);
  double quantile = 0;  // of the response; 0: the figure is no quantile

  bool is_lower_bound(const RunResult& run) const {
    return quantile > 0 && fsr::is_lower_bound(run.response, run.open, quantile);
  }
};

std::string time_text(double ns) { return format_duration(int64_t(ns)); }
std::string rate_text(double per_second) { return fmt::format("{:.1f}", per_second); }

constexpr Figure kFigures[] = {
    {"achieved_per_s", [](const RunResult& r) { return r.achieved(); }, rate_text},
    {"response_p50_ns", [](const RunResult& r) { return double(r.response.quantile(0.5)); }, time_text, 0.5},
    {"response_p99_ns", [](const RunResult& r) { return double(r.response.quantile(0.99)); }, time_text, 0.99},
    {"response_p999_ns", [](const RunResult& r) { return double(r.response.quantile(0.999)); }, time_text, 0.999},
    {"response_max_ns", [](const RunResult& r) { return double(r.response.max()); }, time_text, 1},
};
constexpr size_t kFigureCount = std::size(kFigures);
using Figures = std::array<double, kFigureCount>;

std::string row(const std::string& name, const std::array<std::string, kFigureCount>& cells) {
  std::string text = fmt::format("{:<8}", name);
  for (const std::string& cell : cells) text += fmt::format(" {:>12}", cell);
  return text + "\n";
}

// Sum of the runs at one load. A run of a trace can't be longer than the trace, so several runs add up to enough operations.
struct Pooled {
  static constexpr unsigned kMostRuns = 5;
  RunResult sum;
  unsigned runs = 0;
  bool kept_up = true;  // all operations were issued and answered about when they were due

  int64_t longest() const { return sum.elapsed; }  // elapsed time of the longest run, ns
  void add(const RunResult& run) {
    add_result(sum, run);
    constexpr int64_t kTail = 200'000'000;  // ns that the last operations may take
    kept_up &= run.overdue == 0 && run.unfinished == 0 && run.elapsed - run.planned <= run.planned / 50 + kTail;
    ++runs;
  }
  bool enough(const RunLength& least) const { return sum.issued() >= least.operations || runs == kMostRuns; }
  // Returns why the answer is not reliable. Empty: it is.
  std::string doubt(const RunLength& least) const {
    const bool few = sum.issued() < least.operations;
    // The last operations are due a little before the end.
    if (!few && longest() >= least.time - least.time / 10) return "";
    return fmt::format("uncertain: {} operations in {} of {}; at least {} in {} are required", format_count(sum.issued()),
                       runs == 1 ? "a run" : fmt::format("{} runs", runs), format_duration(longest()),
                       format_count(least.operations), format_duration(least.time));
  }
};

}  // namespace

std::optional<int> Replay::run_alone(double factor, const RunLength& least) {
  if (again_) {
    target_.reset();
    ranks_.cluster().on_all([&] { open_target_for_run(); });
  }
  input_->restart(factor, least);
  input_->next_round();
  ++round_;
  RunSteps steps(*input_, *target_, clock_, stop_, report_);
  if (std::optional<int> early = run_round(steps)) return early;
  again_ = true;
  complete_report(steps);
  input_->end_round(report_);
  files_.end_run(report_, afterwards_);
  if (command_.json) rounds_.push_back(report_);
  latest_ = report_;
  return std::nullopt;
}

// Reports why no further run could begin, for example because the server no longer answers. The report is that of the last run.
void Replay::end_between(const std::exception& why) {
  report_ = latest_;
  report_.aftermath = fmt::format("no further run could begin: {}", why.what());
  line_.clear();
  if (ranks_.root()) fmt::print(stderr, "fsreplay: {}\n", why.what());
}

void Replay::print(const std::string& text) const {
  if (ranks_.root() && !command_.json) print_whole(text);
}

int Replay::run_repeats() {
  print(row("run", {"achieved/s", "p50", "p99", "p99.9", "max"}));
  std::vector<Figures> runs;
  std::array<unsigned, kFigureCount> lower_bounds{};  // number of runs whose figure is a lower bound
  int status = 0;
  for (unsigned i = 0; i < command_.repeat; ++i) {
    try {
      if (std::optional<int> early = run_alone(1, {})) return *early;
    } catch (const LostRank& e) {
      lost_between(e);
      break;
    } catch (const std::exception& e) {
      if (runs.empty()) throw;
      end_between(e);
      status = worse_status(status, 1);
      break;
    }
    status = worse_status(status, verdict(report_).status);
    Figures& figures = runs.emplace_back();
    std::array<std::string, kFigureCount> cells;
    for (size_t f = 0; f < kFigureCount; ++f) {
      const bool bound = kFigures[f].is_lower_bound(report_.result);
      lower_bounds[f] += bound;
      cells[f] = (bound ? "> " : "") + kFigures[f].text(figures[f] = kFigures[f].of(report_.result));
    }
    print(row(std::to_string(i + 1), cells));
    const Verdict v = verdict(report_);
    for (const std::string& reason : v.reasons) print(fmt::format("{:8} not clean: {}\n", "", reason));
    for (const std::string& missed : v.missed) print(fmt::format("{:8} {}\n", "", missed));
    if (over(false)) break;
  }
  nlohmann::json document = nlohmann::json::object();
  std::array<std::string, kFigureCount> medians, spreads;
  for (size_t f = 0; f < kFigureCount; ++f) {
    std::vector<double> values;
    for (const Figures& figures : runs) values.push_back(figures[f]);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double middle = median(values), spread = middle > 0 ? (*most - *least) / middle : 0;
    document[kFigures[f].name] = {
        {"median", middle}, {"least", *least}, {"most", *most}, {"spread", spread}, {"lower_bounds", lower_bounds[f]}};
    medians[f] = (lower_bounds[f] ? "> " : "") + kFigures[f].text(middle);
    spreads[f] = fmt::format("{:.1f} %", spread * 100);
  }
  files_.look_at(afterwards_);
  if (command_.json) {
    report_.sections.push_back(std::make_shared<Member>("repeat", document));
    return worse_status(status, finish());
  }
  print(row("median", medians) + row("spread", spreads));
  return worse_status(status, int(afterwards_.failed()));
}

namespace {

// The latest run at one load of a search.
struct Seen {
  double achieved;
  std::string limit, doubt, measured;
  int status;
};
using SeenLoads = std::map<double, Seen>;  // by factor

std::string answer_text(const ScaleAnswer& answer, SeenLoads& seen, const LoadUnit& unit, const std::string& condition) {
  const double holds = answer.holds * unit.one, breaks = answer.breaks * unit.one;
  if (holds > 0 && breaks > 0)
    return fmt::format("this target takes {:.4g} {}, {:.0f} op/s, within {}; at {:.4g} {}", holds, unit.words,
                       seen[answer.holds].achieved, condition, breaks, seen[answer.breaks].limit);
  if (holds > 0) return fmt::format("this target takes more than {:.4g} {} within {}", holds, unit.words, condition);
  if (answer.futile)
    return fmt::format("no load satisfies {}: {} at {:.4g} {}, no better than at a higher load", condition,
                       seen[answer.breaks].measured, breaks, unit.words);
  return fmt::format("this target takes less than {:.4g} {} within {}: {}", breaks, unit.words, condition,
                     seen[answer.breaks].measured);
}

}  // namespace

int Replay::run_search() {
  const Condition condition(command_.find_scale);
  const LoadUnit unit = input_->load_unit();
  const RunLength least = condition.least();
  SeenLoads seen;
  std::optional<int> early;
  bool reported = false;  // run_alone() has printed a report
  print(fmt::format("{:>10} {:>12} {:>12} {:>12}   {}\n", "load", "achieved/s", "p50", "p99", condition.text()));
  ScaleSearch search([&](double factor) -> std::optional<ScaleSearch::Attempt> {
    Pooled pooled;
    bool failed = false;
    do {
      try {
        if ((early = run_alone(factor, least))) {
          reported = true;
          return std::nullopt;
        }
      } catch (const LostRank& e) {
        lost_between(e);
        early = 1;
        return std::nullopt;
      } catch (const std::exception& e) {
        if (seen.empty() && pooled.runs == 0) throw;
        end_between(e);
        failed = true;
        early = 1;
        break;
      }
      if (over(false)) {
        if (!ranks_.whole() && !afterwards_.failed()) fmt::print(stderr, "fsreplay: {}\n", report_.aftermath);
        early = 1;
        return std::nullopt;
      }
      pooled.add(report_.result);
    } while (ranks_.of_root(pooled.enough(least) ? 0 : 1) > 0);
    if (pooled.runs == 0) return std::nullopt;
    if (ranks_.of_root(double(pooled.sum.issued())) == 0) {
      if (ranks_.root())
        fmt::print(stderr,
                   "fsreplay: --find-scale: no operation was issued in {} at {:.4g} {}; use a longer run or a higher load\n",
                   format_duration(pooled.longest()), factor * unit.one, unit.words);
      early = 1;
      return std::nullopt;
    }
    const RunResult& r = report_.result;
    const double strain = ranks_.of_root(condition.strain(pooled.sum));
    seen[factor] = {r.achieved(), r.limit_text, pooled.doubt(least), condition.measured(pooled.sum), verdict(report_).status};
    print(fmt::format("{:>10.4g} {:>12.1f} {:>12} {:>12}   {}: {}\n", factor * unit.one, r.achieved(),
                      quantile_text(pooled.sum.response, pooled.sum.open, 0.5),
                      quantile_text(pooled.sum.response, pooled.sum.open, 0.99), seen[factor].measured,
                      strain < 1 ? "holds" : "broken"));
    if (failed) return std::nullopt;
    return ScaleSearch::Attempt{strain, ranks_.of_root(pooled.kept_up) > 0};
  });
  const std::optional<ScaleAnswer> answer = search.find();
  files_.look_at(afterwards_);
  if (!answer) return command_.json && !reported ? worse_status(*early, finish()) : *early;
  const bool between = answer->holds > 0 && answer->breaks > 0;
  std::string text = answer_text(*answer, seen, unit, condition.text());
  const std::string& doubt = seen[answer->holds > 0 ? answer->holds : answer->breaks].doubt;
  if (!doubt.empty()) text += "; " + doubt;
  const int status = worse_status(between ? seen[answer->holds].status : 1, int(afterwards_.failed()));
  print(text + "\n");
  if (!command_.json) return status;
  report_.sections.push_back(
      std::make_shared<Member>("find_scale", nlohmann::json{{"condition", condition.text()},
                                                            {"unit", unit.words},
                                                            {"holds", answer->holds * unit.one},
                                                            {"breaks", answer->breaks * unit.one},
                                                            {"achieved_per_s", seen[answer->holds].achieved},
                                                            {"limited_by", seen[answer->breaks].limit},
                                                            {"doubt", doubt},
                                                            {"answer", text}}));
  finish();
  return status;
}

}  // namespace fsr
