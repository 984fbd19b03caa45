// SPDX-License-Identifier: Apache-2.0
// --find-scale: searches for the highest load that meets a condition. Each load is run until there are enough operations, and
// then reported in a line.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/replay.hpp"
#include "cycle/condition.hpp"
#include "cycle/scale_search.hpp"
#include "engine/run_merge.hpp"
#include "measure/bound.hpp"
#include "report/json_member.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

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

class Replay::Search {
 public:
  explicit Search(Replay& replay)
      : replay_(replay), condition_(replay.command_.find_scale), unit_(replay.input_->load_unit()), least_(condition_.least()) {}

  int run();

 private:
  std::optional<ScaleSearch::Attempt> attempt(double factor);
  // Runs `factor` times the load until that is enough. Sets early_ if the search ends here. Returns whether `pooled` is to be
  // told.
  bool gather(double factor, Pooled& pooled);
  int conclude(const ScaleAnswer& answer);
  void add_to_report(const ScaleAnswer& answer, const std::string& doubt, const std::string& text);

  Replay& replay_;
  const Condition condition_;
  const LoadUnit unit_;
  const RunLength least_;
  SeenLoads seen_;
  std::optional<int> early_;  // exit status of a search that has no answer
  bool reported_ = false;     // run_alone() has printed a report
};

bool Replay::Search::gather(double factor, Pooled& pooled) {
  do {
    try {
      early_ = replay_.run_alone(factor, least_);
      reported_ = early_.has_value();
      if (early_) return false;
    } catch (const LostRank& e) {
      replay_.lost_between(e);
      early_ = 1;
      return false;
    } catch (const std::exception& e) {
      if (seen_.empty() && pooled.runs == 0) throw;
      replay_.end_between(e);
      early_ = 1;
      return pooled.runs > 0;
    }
    if (replay_.over(false)) {
      if (!replay_.ranks_.whole() && !replay_.afterwards_.failed())
        fmt::print(stderr, "fsreplay: {}\n", replay_.report_.aftermath);
      early_ = 1;
      return false;
    }
    pooled.add(replay_.report_.result);
  } while (replay_.ranks_.of_root(pooled.enough(least_) ? 0 : 1) > 0);
  return true;
}

std::optional<ScaleSearch::Attempt> Replay::Search::attempt(double factor) {
  Pooled pooled;
  if (!gather(factor, pooled)) return std::nullopt;
  RankRun& ranks = replay_.ranks_;
  if (ranks.of_root(double(pooled.sum.issued())) == 0) {
    if (ranks.root())
      fmt::print(stderr,
                 "fsreplay: --find-scale: no operation was issued in {} at {:.4g} {}; use a longer run or a higher load\n",
                 format_duration(pooled.longest()), factor * unit_.one, unit_.words);
    early_ = 1;
    return std::nullopt;
  }
  const RunResult& r = replay_.report_.result;
  const double strain = ranks.of_root(condition_.strain(pooled.sum));
  const std::string measured = condition_.measured(pooled.sum);
  seen_[factor] = {r.achieved(), r.limit_text, pooled.doubt(least_), measured, verdict(replay_.report_).status};
  replay_.print(fmt::format("{:>10.4g} {:>12.1f} {:>12} {:>12}   {}: {}\n", factor * unit_.one, r.achieved(),
                            quantile_text(pooled.sum.response, pooled.sum.open, 0.5),
                            quantile_text(pooled.sum.response, pooled.sum.open, 0.99), measured,
                            strain < 1 ? "holds" : "broken"));
  if (early_) return std::nullopt;
  return ScaleSearch::Attempt{strain, ranks.of_root(pooled.kept_up) > 0};
}

void Replay::Search::add_to_report(const ScaleAnswer& answer, const std::string& doubt, const std::string& text) {
  replay_.report_.sections.push_back(
      std::make_shared<JsonMember>("find_scale", nlohmann::json{{"condition", condition_.text()},
                                                                {"unit", unit_.words},
                                                                {"holds", answer.holds * unit_.one},
                                                                {"breaks", answer.breaks * unit_.one},
                                                                {"achieved_per_s", seen_[answer.holds].achieved},
                                                                {"limited_by", seen_[answer.breaks].limit},
                                                                {"doubt", doubt},
                                                                {"answer", text}}));
}

int Replay::Search::conclude(const ScaleAnswer& answer) {
  const bool between = answer.holds > 0 && answer.breaks > 0;
  std::string text = answer_text(answer, seen_, unit_, condition_.text());
  const std::string& doubt = seen_[answer.holds > 0 ? answer.holds : answer.breaks].doubt;
  if (!doubt.empty()) text += "; " + doubt;
  const int status = worse_status(between ? seen_[answer.holds].status : 1, int(replay_.afterwards_.failed()));
  replay_.print(text + "\n");
  if (!replay_.command_.json) return status;
  add_to_report(answer, doubt, text);
  replay_.finish();
  return status;
}

int Replay::Search::run() {
  replay_.print(fmt::format("{:>10} {:>12} {:>12} {:>12}   {}\n", "load", "achieved/s", "p50", "p99", condition_.text()));
  ScaleSearch search([this](double factor) { return attempt(factor); });
  const std::optional<ScaleAnswer> answer = search.find();
  replay_.files_.look_at(replay_.afterwards_);
  if (answer) return conclude(*answer);
  return replay_.command_.json && !reported_ ? worse_status(*early_, replay_.finish()) : *early_;
}

int Replay::run_search() { return Search(*this).run(); }

}  // namespace fsr
