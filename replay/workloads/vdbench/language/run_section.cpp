// SPDX-License-Identifier: Apache-2.0
// RDs: runs, their rates and loops.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/vdbench/language/section_tables.hpp"

namespace fsr::vdbench {

namespace {

constexpr int64_t kMostSeconds = 100'000'000;
constexpr double kMostRate = 1e9;
constexpr const char* kNotYet = "this version does not have it";

void set_rates(Run& run, const Parameter& p) {
  run.rates.clear();
  const Value& first = p.values[0];
  if (p.values.size() == 1 && same_word(first.text, "max")) return void(run.rates = {{Rate::max}});
  if (p.values.size() == 1 && same_word(first.text, "curve")) return void(run.rates = {{Rate::curve}});
  for (const Value& value : p.values)
    if (same_word(value.text, "max") || same_word(value.text, "curve")) {
      // A list may mix both kinds.
      for (const Value& v : p.values)
        run.rates.push_back(same_word(v.text, "max") ? Rate{Rate::max} : Rate{Rate::fixed, number(v).value});
      return;
    }
  for (const Number& n : numbers(p)) {
    if (n.value <= 0 || n.value > kMostRate) throw ParameterError(first.place, "expected rates above 0 a second, max or curve");
    run.rates.push_back({Rate::fixed, n.value});
  }
}

void set_curve(Run& run, const Parameter& p) {
  run.curve_points.clear();
  for (const Number& n : numbers(p)) {
    if (n.value <= 0 || n.value > 200) throw ParameterError(p.values[0].place, "expected percentages of the highest rate");
    run.curve_points.push_back(n.value);
  }
}

void set_distribution(Run& run, const Parameter& p) {
  for (const Value& value : p.values) {
    const size_t which = one_of(value, {"exponential", "uniform", "deterministic", "variable", "spike"});
    if (which < 3) run.distribution = Distribution(which);
    run.variable |= which == 3;
    run.spike |= which == 4;
  }
}

void set_format(Run& run, const Parameter& p) {
  run.format = {};
  for (const Value& value : p.values) {
    switch (one_of(value, {"no", "yes", "only", "restart", "clean", "once", "directories", "limited", "complete"})) {
      case 1:
        run.format.yes = true;
        break;
      case 2:
        run.format.only = true;
        break;
      case 3:
        run.format.restart = true;
        break;
      case 4:
        run.format.clean = true;
        break;
      case 5:
        run.format.once = run.format.yes = true;
        break;
      case 6:
        run.format.directories = run.format.yes = true;
        break;
      case 7:
        run.format.limited = true;
        break;
      case 8:
        run.format.complete = true;
        break;
      default:
        break;
    }
  }
  if (run.format.limited && !run.format.only) throw ParameterError(p.place, "expected only with limited: (only,limited)");
  if (run.format.complete && run.format.any()) throw ParameterError(p.place, "expected complete alone, or with no");
}

// In place of one of the same name, which the defaults may have.
void add(Run& run, Loop loop) {
  std::erase_if(run.loops, [&](const Loop& other) { return other.name == std::string_view(loop.name); });
  run.loops.push_back(std::move(loop));
}

void add_loop(Run& run, const char* name, const Parameter& p, Unit unit = Unit::count) {
  add(run, {.name = name, .place = p.place, .numbers = numbers(p, unit), .sizes = {}, .operations = {}});
}

template <int64_t Least>
void set_seconds(int64_t& to, const Parameter& p) {
  to = int64_t(whole(p, uint64_t(Least), uint64_t(kMostSeconds), Unit::time));
}

void loop_seek(Run& run, const Parameter& p) {
  Loop loop{.name = "seekpct", .place = p.place, .numbers = {}, .sizes = {}, .operations = {}};
  for (const Value& value : p.values) {
    Parameter one = p;
    one.keyword = loop.name;  // as of a WD
    one.values = {value};
    loop.sizes.push_back(one);
    loop.numbers.push_back({0, false, value.text});
  }
  add(run, std::move(loop));
}

void loop_operations(Run& run, const Parameter& p) {
  Loop loop{.name = "operations", .place = p.place, .numbers = {}, .sizes = {}, .operations = {}};
  for (const Value& value : p.values) {
    loop.operations.push_back(operation_of(value));
    loop.numbers.push_back({0, false, kOperationNames[unsigned(loop.operations.back())]});
  }
  add(run, std::move(loop));
}

void set_commands(Commands& commands, const Parameter& p) {
  for (const Value& value : p.values) commands.lines.push_back(value.text);
}

const Keyword<Run> kRun[] = {
    {"iorate", set_rates},
    {"fwdrate", set_rates},
    {"curve", set_curve},
    {"stopcurve", [](Run& r, const Parameter& p) { r.stop_curve = within(p, 0.001, 1e9); }},
    {"elapsed", [](Run& r, const Parameter& p) { set_seconds<1>(r.elapsed, p); }},
    {"interval", [](Run& r, const Parameter& p) { set_seconds<1>(r.interval, p); }},
    {"warmup", [](Run& r, const Parameter& p) { set_seconds<0>(r.warmup, p); }},
    {"pause", [](Run& r, const Parameter& p) { set_seconds<0>(r.pause, p); }},
    {"maxdata", [](Run& r, const Parameter& p) { r.max_data = within(p, 100, 1e18); }},
    {"maxdataread", [](Run& r, const Parameter& p) { r.max_read = within(p, 100, 1e18); }},
    {"maxdatawritten", [](Run& r, const Parameter& p) { r.max_written = within(p, 100, 1e18); }},
    {"distribution", set_distribution},
    {"startcmd", [](Run& r, const Parameter& p) { set_commands(r.start, p); }},
    {"start_cmd", [](Run& r, const Parameter& p) { set_commands(r.start, p); }},
    {"endcmd", [](Run& r, const Parameter& p) { set_commands(r.end, p); }},
    {"end_cmd", [](Run& r, const Parameter& p) { set_commands(r.end, p); }},
    {"openflags", [](Run& r, const Parameter& p) { r.flags = open_flags(p); }},
    {"mount", nullptr, kNotYet},
    {"replay", nullptr, "Swat's traces are closed"},
    {"format", set_format},
    {"operations",
     [](Run& r, const Parameter& p) {
       for (const Value& value : p.values) r.operations.push_back(operation_of(value));
     }},
    {"foroperations", loop_operations},
    {"forxfersize", [](Run& r, const Parameter& p) { add_loop(r, "xfersize", p); }},
    {"xfersize", [](Run& r, const Parameter& p) { add_loop(r, "xfersize", p); }},
    {"forthreads", [](Run& r, const Parameter& p) { add_loop(r, "threads", p); }},
    {"threads", [](Run& r, const Parameter& p) { add_loop(r, "threads", p); }},
    {"forrdpct", [](Run& r, const Parameter& p) { add_loop(r, "rdpct", p); }},
    {"rdpct", [](Run& r, const Parameter& p) { add_loop(r, "rdpct", p); }},
    {"forseekpct", loop_seek},
    {"seekpct", loop_seek},
    {"forrhpct", [](Run& r, const Parameter& p) { add_loop(r, "rhpct", p); }},
    {"rhpct", [](Run& r, const Parameter& p) { add_loop(r, "rhpct", p); }},
    {"forwhpct", [](Run& r, const Parameter& p) { add_loop(r, "whpct", p); }},
    {"whpct", [](Run& r, const Parameter& p) { add_loop(r, "whpct", p); }},
    {"forhitarea", [](Run& r, const Parameter& p) { add_loop(r, "hitarea", p); }},
    {"hitarea", [](Run& r, const Parameter& p) { add_loop(r, "hitarea", p); }},
    {"forcompratio", [](Run& r, const Parameter& p) { add_loop(r, "compratio", p); }},
    {"compratio", [](Run& r, const Parameter& p) { add_loop(r, "compratio", p); }},
    {"forcompression", nullptr, "expected forcompratio="},
    {"fordepth", [](Run& r, const Parameter& p) { add_loop(r, "depth", p); }},
    {"forwidth", [](Run& r, const Parameter& p) { add_loop(r, "width", p); }},
    {"forfiles", [](Run& r, const Parameter& p) { add_loop(r, "files", p); }},
    {"forsizes", [](Run& r, const Parameter& p) { add_loop(r, "size", p); }},
    {"fortotalsize", [](Run& r, const Parameter& p) { add_loop(r, "totalsize", p); }},
    {"forworkingsetsize", [](Run& r, const Parameter& p) { add_loop(r, "wss", p); }},
    {"forwss", [](Run& r, const Parameter& p) { add_loop(r, "wss", p); }},
};

}  // namespace

std::span<const Keyword<Run>> run_keywords() { return kRun; }

}  // namespace fsr::vdbench
