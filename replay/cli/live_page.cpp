// SPDX-License-Identifier: Apache-2.0
#include "cli/live_page.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "engine/run_merge.hpp"
#include "page/results_page.hpp"
#include "util/clock_ns.hpp"
#include "util/output_file.hpp"

namespace fsr {

namespace {

constexpr int64_t kEveryPage = 3'000'000'000;  // ns between two pages
constexpr int64_t kShare = 50;                 // a page takes at most one of so many parts of the time

// The page shows all kinds together over time.
TimeSeries empty_series() { return TimeSeries(TimeSeries::Rows::bounded, false); }

}  // namespace

LivePage::LivePage(const std::string& path, bool replace) : path_(path), series_(empty_series()) {
  if (!replace && access(path.c_str(), F_OK) == 0)
    throw std::runtime_error(path + ": exists already; give --force to replace the file, or another name");
  const OutputFile probe(path, true, Readers::by_umask);  // throws if the page can't be written
}

void LivePage::add(const Interval& interval, const SeriesInterval& series, const Report& report) {
  counts_.merge(interval.counts);
  differed_ += series.differed;
  series_.append(series, interval.counts);
  const int64_t begin = clock_ns(CLOCK_MONOTONIC);
  if (begin < next_write_) return;
  try {
    ResultsDatabase now;
    report_database(so_far(report), now);
    write(&now);
  } catch (const std::runtime_error& e) {
    failure_ = e.what();
  }
  const int64_t end = clock_ns(CLOCK_MONOTONIC);
  next_write_ = end + std::max(kEveryPage, (end - begin) * kShare);
}

// Returns what is known of the present run, without what only its end tells.
Report LivePage::so_far(const Report& report) const {
  Report out;
  out.input = report.input;
  out.target = report.target;
  out.started = report.started;
  out.label = report.label;
  out.program = report.program;
  out.command = report.command;
  out.target_mount = report.target_mount;
  out.environment = report.environment;
  out.acting_as = report.acting_as;
  out.options = report.options;
  out.image = report.image;
  out.prepared = report.prepared;
  out.allowed = report.allowed;
  out.series = series_;
  for (const auto& section : report.sections)
    if (section->so_far()) out.sections.push_back(section);
  RunResult& r = out.result;
  add_counts(r, counts_);
  r.kinds[size_t(OpKind::null)].differed = differed_;  // kinds are not known yet
  r.after_differences = r.kinds[size_t(OpKind::null)].followed = report.result.after_differences;
  for (size_t kind = 0; kind < kOpKinds; ++kind) {
    r.kinds[kind].impossible = report.result.kinds[kind].impossible;
    r.kinds[kind].refused = report.result.kinds[kind].refused;
  }
  r.unanswered = report.result.unanswered;
  out.counters = report.counters;
  r.elapsed = series_.latest().to;
  return out;
}

void LivePage::end_run(const Report& report) {
  counts_ = {};
  series_ = empty_series();
  differed_ = 0;
  if (!ended_) ended_ = std::make_unique<ResultsDatabase>();
  report_database(report, *ended_);
  ++ended_runs_;
}

void LivePage::finish() {
  if (ended_runs_) write(nullptr);
}

// Writes the page of the runs that have ended and of the present one. `now`: its results so far; null: it has ended.
void LivePage::write(const ResultsDatabase* now) {
  std::vector<ChosenRun> runs;
  auto add_runs = [&](const ResultsDatabase& database) {
    auto reader = std::make_shared<ResultsReader>(database);
    for (ResultRow& run : reader->runs()) runs.push_back({.file = reader, .run = std::move(run)});
  };
  if (ended_) add_runs(*ended_);
  if (now) {
    add_runs(*now);
    runs.back().running = true;
    runs.back().shown_as = ended_runs_ + 1;
  }
  OutputFile(path_, true, Readers::by_umask).finish(results_page(runs));
}

}  // namespace fsr
