// SPDX-License-Identifier: Apache-2.0
// Files that are updated while a run goes on. Call add() once for each interval. A full disk does not end a run: failure() says
// what could not be written. Constructors throw std::runtime_error "FILE: why". Use from one thread.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "measure/interval.hpp"
#include "report/section.hpp"
#include "report/time_series.hpp"

namespace fsr {

class MetricsText;
struct RunResult;

// CSV file with the columns of the table `intervals`. It has a line for each kind in each interval, and one for all kinds.
class CsvFile {
 public:
  CsvFile(const std::string& path, bool replace);
  void add(unsigned round, const SeriesInterval& interval);  // `round`: from 1
  std::string failure() const { return failure_; }

 private:
  void line(const std::string& text);

  const std::string path_;
  std::unique_ptr<FILE, int (*)(FILE*)> file_;
  std::string failure_;
};

// Prometheus text about a run so far, for the textfile collector of a Prometheus node exporter. Each new text replaces the
// previous one as a whole.
class MetricsFile {
 public:
  MetricsFile(const std::string& path, const std::string& input, const std::string& target);
  void add(const Interval& interval, const SeriesInterval& series,
           const std::vector<std::shared_ptr<const ReportSection>>& sections = {},
           const std::vector<std::pair<std::string, uint64_t>>& of_target = {});
  void finish(const RunResult& result);  // adds what is known only when a run has ended
  std::string failure() const { return failure_; }

 private:
  void write(const MetricsText& text);

  const std::string path_, input_, target_;
  Tally sum_;
  uint64_t differed_ = 0, overdue_ = 0, unfinished_ = 0, unanswered_ = 0;
  int64_t stood_still_ = 0;      // ns
  std::string during_, at_end_;  // the text that add() and finish() wrote last
  std::string failure_;
};

}  // namespace fsr
