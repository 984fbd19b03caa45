// SPDX-License-Identifier: Apache-2.0
#include "cli/run_files.hpp"

#include <string>

namespace fsr {

void RunFiles::open() {
  if (!command_.results.empty()) results_ = std::make_unique<ResultsDatabase>(command_.results);
  if (!command_.csv.empty()) csv_ = std::make_unique<CsvFile>(command_.csv, command_.force);
  if (!command_.metrics.empty()) metrics_ = std::make_unique<MetricsFile>(command_.metrics, command_.input, command_.target);
  if (!command_.page.empty()) page_ = std::make_unique<LivePage>(command_.page, command_.force);
}

TimeSeries::Rows RunFiles::rows() const {
  if (!command_.json && command_.results.empty() && command_.page.empty()) return TimeSeries::Rows::none;
  return command_.interval ? TimeSeries::Rows::all : TimeSeries::Rows::bounded;
}

void RunFiles::add(unsigned round, const Interval& interval, const SeriesInterval& series, const Report& report) {
  if (csv_) csv_->add(round, series);
  if (metrics_) metrics_->add(interval, series, report.sections, report.counters);
  if (page_) page_->add(interval, series, report);
}

void RunFiles::end_metrics(const RunResult& result) {
  if (metrics_) metrics_->finish(result);
}

void RunFiles::end_run(const Report& report, Afterwards& afterwards) {
  if (results_) afterwards.run([&] { report_database(report, *results_); });
  if (page_) afterwards.run([&] { page_->end_run(report); });
}

void RunFiles::look_at(Afterwards& afterwards) const {
  for (const std::string& failure :
       {csv_ ? csv_->failure() : "", metrics_ ? metrics_->failure() : "", page_ ? page_->failure() : ""})
    if (!failure.empty()) afterwards.fail(failure);
}

void RunFiles::finish(Afterwards& afterwards) {
  if (page_) afterwards.run([&] { page_->finish(); });
}

}  // namespace fsr
