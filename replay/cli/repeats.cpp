// SPDX-License-Identifier: Apache-2.0
// --repeat: runs an input several times. Each run begins with the tree of the image, on a target that was opened again. A line
// reports each run as soon as it is over.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/replay.hpp"
#include "measure/bound.hpp"
#include "measure/paired.hpp"
#include "report/json_member.hpp"
#include "util/standard_streams.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

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
using RunFigures = std::array<double, kFigureCount>;

std::string row(const std::string& name, const std::array<std::string, kFigureCount>& cells) {
  std::string text = fmt::format("{:<8}", name);
  for (const std::string& cell : cells) text += fmt::format(" {:>12}", cell);
  return text + "\n";
}

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
  std::vector<RunFigures> runs;
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
    RunFigures& figures = runs.emplace_back();
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
    for (const RunFigures& figures : runs) values.push_back(figures[f]);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const double middle = median(values), spread = middle > 0 ? (*most - *least) / middle : 0;
    document[kFigures[f].name] = {
        {"median", middle}, {"least", *least}, {"most", *most}, {"spread", spread}, {"lower_bounds", lower_bounds[f]}};
    medians[f] = (lower_bounds[f] ? "> " : "") + kFigures[f].text(middle);
    spreads[f] = fmt::format("{:.1f} %", spread * 100);
  }
  files_.look_at(afterwards_);
  if (command_.json) {
    report_.sections.push_back(std::make_shared<JsonMember>("repeat", document));
    return worse_status(status, finish());
  }
  print(row("median", medians) + row("spread", spreads));
  return worse_status(status, int(afterwards_.failed()));
}

}  // namespace fsr
