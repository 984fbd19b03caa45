// SPDX-License-Identifier: Apache-2.0
// RDs: runs, with their rates and loops.
#include <fmt/format.h>

#include <algorithm>

#include "workloads/vdbench/language/keyword.hpp"

namespace fsr::vdbench {

namespace {

constexpr int64_t kMostSeconds = 100'000'000;
constexpr double kMostRate = 1e9;

void drop_rate_loops(Run& run) {
  std::erase_if(run.loops, [](const Loop& loop) { return loop.of_rates(); });
}

// Turns several rates into a loop. Of runs on FSDs, the loop is at the position of fwdrate= among the loops; of runs on SDs, it
// is the last one.
void loop_rates(Run& run, const Parameter& p) {
  Loop rates{.name = kIorate, .position = p.position, .numbers = {}, .as_typed = true};
  for (const Rate& rate : run.rates)
    rates.numbers.push_back(
        {rate.value, rate.kind == Rate::percent, rate.kind == Rate::max ? "max" : fmt::format("{}", int64_t(rate.value))});
  auto at = std::ranges::find_if(run.loops, &Loop::of_rates);
  if (at != run.loops.end() && is_short_for(p, kFwdrate)) {
    rates.name = kFwdrate;
    *at = rates;
  } else {
    drop_rate_loops(run);
    run.loops.push_back(rates);
  }
  if (run.rates.size() == 1) drop_rate_loops(run);
}

Rate fixed_rate(const Number& n, const Value& value) {
  if (n.percent && n.value > 0) return {Rate::percent, n.value};
  if (n.value <= 0 || n.value > kMostRate) throw ParameterError(value.position, "expected rates above 0 a second, max or curve");
  return {Rate::fixed, n.value};
}

void set_rates(Run& run, const Parameter& p) {
  const Value& first = p.values[0];
  auto is_max = [](const Value& value) { return same_word(value.text, "max"); };
  run.rates.clear();
  if (p.values.size() == 1 && same_word(first.text, "curve")) {
    run.rates = {{Rate::curve}};
  } else if (std::any_of(p.values.begin(), p.values.end(), is_max)) {
    for (const Value& value : p.values) run.rates.push_back(is_max(value) ? Rate{Rate::max} : fixed_rate(number(value), value));
  } else {
    for (const Number& n : numbers(p)) run.rates.push_back(fixed_rate(n, first));
  }
  loop_rates(run, p);
}

void set_curve(Run& run, const Parameter& p) {
  run.curve_points.clear();
  for (const Number& n : numbers(p)) {
    if (n.value <= 0 || n.value > 200) throw ParameterError(p.values[0].position, "expected percentages of the highest rate");
    run.curve_points.push_back(n.value);
  }
}

void set_distribution(Run& run, const Parameter& p) {
  run.variable = run.spike = false;
  for (const Value& value : p.values) {
    const size_t which = one_of(value, {"exponential", "uniform", "deterministic", "variable", "spike"});
    if (which < 3) run.distribution = Distribution(which);
    run.variable |= which == 3;
    run.spike |= which == 4;
  }
}

void set_format(Run& run, const Parameter& p) {
  const std::vector<const char*> words = {"no", "yes", "only", "restart", "clean", "once", "directories", "limited", "complete"};
  constexpr bool Format::*kParts[] = {nullptr,       &Format::yes,         &Format::only,    &Format::restart, &Format::clean,
                                      &Format::once, &Format::directories, &Format::limited, &Format::complete};
  Format format;
  bool no = false;  // at any position
  for (const Value& value : p.values)
    if (bool Format::*const part = kParts[one_of(value, words)])
      format.*part = true;
    else
      no = true;
  format.yes |= format.once || format.directories;
  run.format = {};
  if (no) return void(run.format.complete = format.complete);
  if (format.limited && !format.only) throw ParameterError(p.position, "limited: expected (only,limited)");
  if (format.complete && format.any()) throw ParameterError(p.position, "complete: expected (complete) or (no,complete)");
  run.format = format;
}

// Adds a loop. It replaces one of the same name, which may come from the defaults.
void add(Run& run, Loop loop) {
  std::erase_if(run.loops, [&](const Loop& other) { return other.name == loop.name; });
  run.loops.push_back(std::move(loop));
}

void loop_seek(Run& run, const Parameter& p) {
  Loop loop{.name = "seekpct", .position = p.position, .numbers = {}, .as_typed = true};
  std::vector<Value> values = p.values;
  if (values[0].text.find('-', 1) != std::string::npos) {  // it is a range
    values.clear();
    for (const Number& n : numbers(p)) values.push_back({n.text, p.values[0].position});
  }
  for (const Value& value : values) loop.numbers.push_back({0, false, value.text});
  add(run, std::move(loop));
}

void loop_operations(Run& run, const Parameter& p) {
  Loop loop{.name = "operation", .position = p.position, .numbers = {}, .as_typed = true};
  for (const Value& value : p.values) loop.numbers.push_back({0, false, kOperationNames[unsigned(operation_of(value))]});
  add(run, std::move(loop));
}

// Reads compression=, whose percentages are those that remain.
void loop_old_compression(Run& run, const Parameter& p) {
  Loop loop{.name = "compratio", .position = p.position, .numbers = numbers(p)};
  for (Number& n : loop.numbers) {
    if (n.value < 4 || n.value > 100) throw ParameterError(p.values[0].position, "expected percentages from 4 to 100");
    const double ratio = std::round(100'000 / n.value) / 1000;
    n = {ratio, false, fmt::format("{}", ratio)};
  }
  add(run, std::move(loop));
}

template <int64_t Run::*Seconds, int64_t Least>
void set_time(Run& run, const Parameter& p) {
  run.*Seconds = int64_t(whole(p, uint64_t(Least), uint64_t(kMostSeconds), Unit::time));
}

template <double Run::*Bytes>
void set_limit(Run& run, const Parameter& p) {
  const Number n = number(single(p));
  if (n.percent || n.value <= 0 || n.value > 1e18)
    throw ParameterError(p.values[0].position, "expected bytes, or below 100 how often as much as the SDs have");
  run.*Bytes = n.value;
}

void set_mount(Run& run, const Parameter& p) {
  run.mount = single(p).text;
  if (run.mount.starts_with("mount")) throw ParameterError(p.values[0].position, "expected only options of mount(8)");
  if (run.mount.find_first_of(kShellCharacters) != run.mount.npos)
    throw ParameterError(p.values[0].position, "expected no characters for the shell in options of mount(8)");
}

constexpr char kXfersize[] = "xfersize", kThreads[] = "threads", kRdpct[] = "rdpct", kRhpct[] = "rhpct", kWhpct[] = "whpct",
               kHitarea[] = "hitarea", kCompratio[] = "compratio", kDepth[] = "depth", kWidth[] = "width", kFiles[] = "files",
               kSizes[] = "sizes", kTotalsize[] = "totalsize", kWss[] = "wss";

template <const char* Name>
void loop(Run& run, const Parameter& p) {
  add(run, {.name = Name, .position = p.position, .numbers = numbers(p)});
}

const Keyword<Run> kRun[] = {
    {"iorate", set_rates},
    {"maxdata", set_limit<&Run::max_data>},
    {"maxdataread", set_limit<&Run::max_read>},
    {"maxdatawritten", set_limit<&Run::max_written>},
    {"curve", set_curve},
    {"stopcurve", [](Run& r, const Parameter& p) { r.stop_curve = within(p, 0.001, 1e9); }},
    {"elapsed", set_time<&Run::elapsed, 1>},
    {"interval", set_time<&Run::interval, 1>},
    {"warmup", set_time<&Run::warmup, 0>},
    {"replay", nullptr, kReplay},
    {"pause", set_time<&Run::pause, 0>},
    {"forxfersize xfersize", loop<kXfersize>},
    {"forthreads threads", loop<kThreads>},
    {"forrdpct rdpct", loop<kRdpct>},
    {"forrhpct rhpct", loop<kRhpct>},
    {"forwhpct whpct", loop<kWhpct>},
    {"forseekpct seekpct", loop_seek},
    {"forhitarea hitarea", loop<kHitarea>},
    {"forcompratio compratio", loop<kCompratio>},
    {"forcompression compression", loop_old_compression},
    {"fordepth depth", loop<kDepth>},
    {"forwidth width", loop<kWidth>},
    {"forfiles files", loop<kFiles>},
    {"forsizes sizes", loop<kSizes>},
    {"fortotalsize totalsize", loop<kTotalsize>},
    {"forwss wss forworkingsetsize workingsetsize", loop<kWss>},
    {"foroperations", loop_operations},
    {"distribution", set_distribution},
    {"startcmd start_cmd", [](Run& r, const Parameter& p) { r.start = commands_of(p); }},
    {"endcmd end_cmd", [](Run& r, const Parameter& p) { r.end = commands_of(p); }},
    {"fwdrate", set_rates},
    {"operations",
     [](Run& r, const Parameter& p) {
       r.operations.clear();
       for (const Value& value : p.values) r.operations.push_back(operation_of(value));
     }},
    {"format", set_format},
    {"openflags", [](Run& r, const Parameter& p) { r.flags = open_flags(p); }},
    {"mount", set_mount},
};

// Reads iorate=(rate,seconds,rate,seconds,...). Rates may be percentages of the highest rate, and seconds percentages of
// elapsed=.
void set_steps(Run& run, const Parameter& p) {
  double highest = 0;
  for (size_t i = 0; i < p.values.size(); i += 2)
    if (const Number rate = number(p.values[i]); !rate.percent) highest = std::max(highest, rate.value);
  run.rate_steps.clear();
  for (size_t i = 0; i < p.values.size(); i += 2) {
    if (i + 1 == p.values.size()) throw ParameterError(p.values[i].position, "expected seconds after each rate");
    const Number rate = number(p.values[i]), seconds = number(p.values[i + 1], Unit::time);
    if (rate.value < 0) throw ParameterError(p.values[i].position, "expected rates of 0 and more");
    run.rate_steps.push_back({rate.percent ? highest * rate.value / 100 : rate.value, seconds.value, seconds.percent});
  }
  if (highest <= 0) throw ParameterError(p.position, "expected at least one rate above 0");
  run.rates = {{Rate::fixed, run.rate_steps[0].rate}};
  drop_rate_loops(run);
}

}  // namespace

void place_rates(Run& run, const Parameter& p) {
  drop_rate_loops(run);
  run.loops.push_back({.name = kFwdrate, .position = p.position, .numbers = {}});
}

void set_rate(Run& run, const Parameter* rate) {
  if (rate && run.variable) return set_steps(run, *rate);
  if (rate) apply(run_keywords(), run, *rate, "rd=");
  std::stable_partition(run.loops.begin(), run.loops.end(), [](const Loop& loop) { return loop.name != kIorate; });
  if (!run.variable) return run.rate_steps.clear();
  if (run.rate_steps.empty() && !run.rates.empty())
    throw ParameterError(run.position, "rd={}: distribution=variable: expected also rates as (RATE,SECONDS,...)", run.name);
}

std::span<const Keyword<Run>> run_keywords() { return kRun; }

}  // namespace fsr::vdbench
