// SPDX-License-Identifier: Apache-2.0
// A page that is rewritten every few seconds while runs go on, and that shows their results in the end. Use from one thread. A
// full disk does not end a run: failure() says what could not be written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "measure/interval.hpp"
#include "measure/tally.hpp"
#include "report/report.hpp"
#include "report/time_series.hpp"
#include "sql/results.hpp"

namespace fsr {

class LivePage {
 public:
  // Throws std::runtime_error "FILE: why". `replace`: an existing file is replaced.
  LivePage(const std::string& path, bool replace);

  // Adds an interval of the present run, and rewrites the page if it is time. `report`: describes the run.
  void add(const Interval& interval, const SeriesInterval& series, const Report& report);
  // Adds the results of a run that has ended. Throws std::runtime_error.
  void end_run(const Report& report);
  // Writes the page with all results. Throws std::runtime_error.
  void finish();
  std::string failure() const { return failure_; }

 private:
  void write(const ResultsDatabase* now);
  Report so_far(const Report& report) const;

  const std::string path_;
  std::unique_ptr<ResultsDatabase> ended_;  // runs that have ended; null: none
  int64_t ended_runs_ = 0;
  int64_t next_write_ = 0;  // CLOCK_MONOTONIC, ns
  // The present run so far.
  Tally counts_;
  TimeSeries series_;
  uint64_t differed_ = 0;
  std::string failure_;
};

}  // namespace fsr
