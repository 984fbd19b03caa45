// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/plan/planned_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <string_view>

#include "workloads/vdbench/language/keyword.hpp"

namespace fsr::vdbench {

namespace {

constexpr double kSimulatedHighest = 10'000;

std::string rate_words(const PlannedRun& run) {
  const char* how = run.keeps_shares() ? "Controlled" : "Uncontrolled";
  if (run.run->variable) return "Variable";
  if (run.rate.kind == Rate::max) return fmt::format("{} MAX", how);
  if (run.rate.kind == Rate::curve) return fmt::format("{} curve", how);
  return fmt::format("{:.0f}", run.rate.value);
}

}  // namespace

uint64_t RawWork::unit(const Storage& its_storage) const {
  const TransferSizes& transfers = workload.transfers;
  uint64_t unit = std::gcd(std::gcd(its_storage.offset, its_storage.align), transfers.align);
  if (!transfers.align)
    for (const auto& [bytes, percent] : transfers.shares) unit = std::gcd(unit, bytes);
  return workload.stride ? std::gcd(unit, uint64_t(workload.stride->first) / 512 * 512) : unit;
}

bool PlannedRun::keeps_shares() const {
  return !systems.empty() || std::any_of(workloads.begin(), workloads.end(), [](const Workload& w) { return w.skew > 0; });
}

bool PlannedRun::works_on(const RawWork& work, size_t storage) const {
  const std::vector<size_t>& parts = storages[work.storage].parts;
  return work.storage == storage || std::find(parts.begin(), parts.end(), storage) != parts.end();
}

std::string PlannedRun::title() const {
  if (formats && raw_works.empty()) return name;
  if (formats) return fmt::format("{}; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: {}", name, loops);
  const std::string elapsed = fmt::format("{}{}", run->elapsed, run->warmup > 0 ? fmt::format(" warmup={}", run->warmup) : "");
  if (!systems.empty()) {
    const std::string rate_text = rate.kind == Rate::max     ? "max."
                                  : rate.kind == Rate::curve ? "curve;"
                                                             : fmt::format("{:.0f};", rate.value);
    return fmt::format("{}; elapsed={}; fwdrate={} For loops: {}", name, elapsed, rate_text, loops);
  }
  return fmt::format("{}; I/O rate: {}; elapsed={}; For loops: {}", name, rate_words(*this), elapsed, loops);
}

namespace {

// Returns a share of a rate, rounded up as in 5.04.
double rounded_share(double rate, double percent) {
  const double asked = rate * percent / 100;
  return asked > 1000 ? std::ceil(asked / 100) * 100 : std::ceil(asked / 10) * 10;
}

}  // namespace

PlannedRun at_percentage(PlannedRun run, double observed) {
  if (run.rate.kind != Rate::percent || run.formats) return run;
  run.name += fmt::format("_({:g}%)", run.rate.value);
  run.rate = {Rate::fixed, std::max(rounded_share(observed, run.rate.value), 1.0)};
  return run;
}

std::vector<PlannedRun> curve_runs(const PlannedRun& highest, double rate) {
  std::vector<PlannedRun> runs;
  for (double point : highest.run->curve_points) {
    const double asked = rounded_share(rate, point);
    if (asked < 10) continue;
    PlannedRun one = highest;
    one.rate = {Rate::fixed, asked};
    one.name += fmt::format("_({:g}%)", point);
    runs.push_back(std::move(one));
  }
  return runs;
}

std::string simulate(const std::vector<PlannedRun>& runs) {
  std::string text;
  int64_t seconds = 0;
  auto print = [&](const PlannedRun& run) {
    text += fmt::format("Simulating RD={}\n", run.title());
    if (!run.formats) seconds += run.run->elapsed + run.run->warmup + run.run->pause;
  };
  for (const PlannedRun& planned : runs) {
    const PlannedRun run = at_percentage(planned, kSimulatedHighest);
    print(run);
    if (run.rate.kind != Rate::curve || run.formats) continue;
    for (const PlannedRun& point : curve_runs(run, kSimulatedHighest)) print(point);
  }
  text += fmt::format("{} runs, {} seconds of load, without formatting\n", runs.size(), seconds);
  return text;
}

namespace {

// Sets a parameter in all definitions of a section. False: the section has no such parameter.
template <class T, class List, class Of = std::identity>
bool set_in(List& definitions, std::span<const Keyword<T>> table, const Parameter& parameter, Of of = {}) {
  if (!has_keyword(table, parameter.keyword)) return false;
  for (auto& one : definitions) apply(table, std::invoke(of, one), parameter, "rd=");
  return true;
}

// Returns the name of a loop in vdbench's "For loops:".
std::string_view shown_name(const Loop& loop) { return loop.name == "compratio" ? "comp" : loop.name; }

}  // namespace

void each_round(const std::vector<Loop>& loops, const std::function<void(const std::vector<size_t>&)>& act) {
  std::vector<size_t> at(loops.size(), 0);
  for (;;) {
    act(at);
    size_t i = loops.size();
    while (i > 0 && ++at[i - 1] == loops[i - 1].numbers.size()) at[--i] = 0;
    if (i == 0) return;
  }
}

std::string round_text(const std::vector<Loop>& loops, const std::vector<size_t>& at) {
  std::string text;
  for (size_t i = 0; i < loops.size(); ++i) {
    const Number& n = loops[i].numbers[at[i]];
    text += fmt::format("{}{}={}{}", i ? " " : "", shown_name(loops[i]), loops[i].as_typed ? n.text : size_text(n.value),
                        n.percent ? "%" : "");
  }
  return text.empty() ? "None" : text;
}

void set_value(PlannedRun& run, const Loop& loop, size_t at) {
  if (loop.of_rates()) return void(run.rate = run.run->rates[at]);
  const Number& n = loop.numbers[at];
  const std::string text = n.text + (n.percent && !n.text.ends_with('%') ? "%" : "");
  const Parameter value{
      .keyword = std::string(loop.name), .position = loop.position, .values = {{.text = text, .position = loop.position}}};
  const bool files = !run.systems.empty();
  bool known = has_keyword(general_keywords(), loop.name);
  if (known) run.content = own_content(run.content, {value});
  if (files) {
    known |= set_in(run.systems, file_system_keywords(), value);
    known |= set_in(run.file_works, file_workload_keywords(), value, &FileWork::workload);
  } else {
    known |= set_in(run.storages, storage_keywords(), value);
    known |= set_in(run.workloads, workload_keywords(), value);
  }
  if (!known)
    throw ParameterError(loop.position, "{}= is for {}, expected a loop of {}", loop.name, files ? "SDs" : "FSDs",
                         files ? "FSDs" : "SDs");
}

}  // namespace fsr::vdbench
