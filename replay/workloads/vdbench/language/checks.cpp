// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fsr::vdbench {

namespace {

[[noreturn]] void fail(const Run& run, const std::string& what) {
  throw ParameterError(run.position, "rd={}: {}", run.name, what);
}

bool is_inside(const std::string& anchor, const std::string& other) {
  return anchor.size() > other.size() && anchor.starts_with(other.ends_with('/') ? other : other + "/");
}

void check_content(const General& general) {
  const ContentSettings& content = general.content;
  if (!content.pattern_file.empty() && (content.compression > 1 || content.dedup > 0))
    throw ParameterError(general.pattern_position, "expected either pattern= or compratio= and dedupratio=");
  if (content.flips == ContentSettings::Flips::hot && content.hot_sets.empty())
    throw ParameterError(general.content_position, "dedupflipflop=hot: expected deduphotsets=");
  if (content.sets_percent && content.sets * content.dedup > 100)
    throw ParameterError(general.content_position, "dedupsets={:g}% are more than dedupratio={:g} leaves, expected at most {:g}%",
                         content.sets, content.dedup, 100 / content.dedup);
}

template <class T>
void check_own_content(const General& general, const T& storage) {
  if (storage.content.empty()) return;
  General own = general;
  own.content = own_content(general.content, storage.content);
  own.content_position = storage.position;
  check_content(own);
}

void check_anchors(const FileSystem& a, const FileSystem& b) {
  if (is_inside(b.anchor, a.anchor))
    throw ParameterError(b.position, "fsd={}: the anchor is inside the anchor of fsd={}, expected separate directories", b.name,
                         a.name);
  if (a.anchor == b.anchor && !a.same_files(b))
    throw ParameterError(b.position, "fsd={} and fsd={} share an anchor, expected the same structure", a.name, b.name);
}

bool has_copy(const std::vector<Operation>& list) { return std::find(list.begin(), list.end(), Operation::copy) != list.end(); }

bool loops_copy(const Loop& loop) {
  return loop.name == "operation" &&
         std::ranges::any_of(loop.numbers, [](const Number& n) { return n.text == kOperationNames[unsigned(Operation::copy)]; });
}

bool copies(const Definitions& all) {
  return std::any_of(all.file_workloads.begin(), all.file_workloads.end(),
                     [](const FileWorkload& w) { return w.operation == Operation::copy; }) ||
         std::any_of(all.runs.begin(), all.runs.end(),
                     [](const Run& run) { return has_copy(run.operations) || std::ranges::any_of(run.loops, loops_copy); });
}

// Refuses a target= to which nothing is copied, because it would be ignored.
void check_targets(const Definitions& all) {
  if (copies(all)) return;
  for (const FileWorkload& w : all.file_workloads)
    if (w.target) throw ParameterError(w.position, "fwd={}: expected operation=copy with target=", w.name);
}

}  // namespace

std::vector<std::pair<double, double>> timed_steps(const Run& run) {
  std::vector<std::pair<double, double>> steps;
  double total = 0;
  for (const RateStep& step : run.rate_steps) {
    const double seconds = step.percent ? std::floor(double(run.elapsed) * step.length / 100) : step.length;
    if (seconds < 1) fail(run, "distribution=variable: expected a second or more for each rate");
    steps.emplace_back(step.rate, seconds);
    total += seconds;
  }
  if (total > 3600) fail(run, "distribution=variable: expected 3600 seconds at most in all");
  return steps;
}

void check_times(const Run& run) {
  if (run.elapsed % run.interval || run.warmup % run.interval)
    fail(run, fmt::format("expected elapsed= and warmup= to be multiples of interval={}", run.interval));
  if (run.elapsed < 2 * run.interval) fail(run, fmt::format("expected elapsed= to be twice interval={} or more", run.interval));
}

void check_run(const Run& run, bool files) {
  timed_steps(run);
  const bool only_formats = files && (run.format.only || run.format.clean);
  if (run.rates.empty() && !only_formats) fail(run, files ? "expected fwdrate=" : "expected iorate=");
  if (files && run.file_workloads.empty() && !run.systems && !only_formats) fail(run, "expected fwd= or fsd=");
  if (!files && !run.operations.empty()) fail(run, "expected operations= for FSDs only");
  for (const double bytes : {run.max_data, run.max_read, run.max_written})
    if (files && bytes > 0 && bytes < kLeastBytes)
      fail(run, "expected maxdata= in bytes: a multiple of the size is possible only with SDs");
}

void check_all(const Definitions& all, const SourcePosition& last, Mistakes& mistakes) {
  auto attempt = [&](auto check, const auto&... on) { mistakes.attempt([&] { check(on...); }); };
  if (all.runs.empty() && !mistakes.count()) mistakes.add(ParameterError(last, "no run is defined, expected rd=").what());
  attempt(check_content, all.general);
  for (const Storage& s : all.storages) {
    if (s.flawed) continue;
    if (s.lun.empty()) mistakes.add(ParameterError(s.position, "sd={}: expected lun=", s.name).what());
    attempt(check_own_content<Storage>, all.general, s);
  }
  for (const FileSystem& f : all.systems) {
    if (f.flawed) continue;
    if (f.anchor.empty()) mistakes.add(ParameterError(f.position, "fsd={}: expected anchor=", f.name).what());
    attempt(check_own_content<FileSystem>, all.general, f);
    for (const FileSystem& other : all.systems)
      if (!other.flawed) attempt(check_anchors, f, other);
  }
  if (!mistakes.count()) attempt(check_targets, all);
  if (all.general.removes && all.files())
    mistakes.add(
        ParameterError(all.general.removes_position, "data_errors=remove: expected SDs, because only SDs can be removed").what());
}

}  // namespace fsr::vdbench
