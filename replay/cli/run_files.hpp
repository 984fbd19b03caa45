// SPDX-License-Identifier: Apache-2.0
// Files about the runs of a replay: --results, --csv, --metrics and --page. Use from one thread.
#pragma once

#include <memory>

#include "cli/afterwards.hpp"
#include "cli/live_page.hpp"
#include "cli/options.hpp"
#include "report/live_files.hpp"
#include "report/report.hpp"
#include "report/time_series.hpp"
#include "sql/results.hpp"

namespace fsr {

class RunFiles {
 public:
  explicit RunFiles(const CommandLine& command) : command_(command) {}

  // Opens the files that the command line names. Ranks other than the root have none. Throws std::runtime_error "FILE: why".
  void open();

  // Returns true if a file is written while a run goes on. All ranks return the same.
  bool follow() const { return !command_.csv.empty() || !command_.metrics.empty() || !command_.page.empty(); }
  // Returns which intervals the root's report has. Intervals without a reader would fill the memory in a run without an end.
  TimeSeries::Rows rows() const;
  // True: they describe single operations, by paths.
  bool describe_operations() const { return results_ || page_; }

  // Adds an interval of the present run. `round`: from 1.
  void add(unsigned round, const Interval& interval, const SeriesInterval& series, const Report& report);
  // Adds what is known of a run only when it has ended: first its result, then its report.
  void end_metrics(const RunResult& result);
  void end_run(const Report& report, Afterwards& afterwards);
  // Reports errors of files that were written during the runs.
  void look_at(Afterwards& afterwards) const;
  // Completes the page, when no more is to be reported.
  void finish(Afterwards& afterwards);

 private:
  const CommandLine& command_;
  std::unique_ptr<ResultsDatabase> results_;
  std::unique_ptr<CsvFile> csv_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<LivePage> page_;
};

}  // namespace fsr
