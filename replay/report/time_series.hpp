// SPDX-License-Identifier: Apache-2.0
// A run over time: the operations of each interval by kind, and their times. Use from one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/run.hpp"
#include "report/heat.hpp"

namespace fsr {

struct Times {  // ns
  uint64_t count = 0;
  double mean = 0;
  int64_t p50 = 0, p90 = 0, p99 = 0, p999 = 0, p9999 = 0, max = 0;
};
Times times_of(const Histogram& histogram);

// Measured values of one kind, or of all kinds together.
struct Measured {
  uint64_t operations = 0;  // operations that did not fail
  uint64_t failed = 0;
  uint64_t bytes_read = 0, bytes_written = 0;
  Times service, response, recorded;  // recorded: durations in the capture
};

struct SeriesInterval {
  int64_t from = 0, to = 0;  // ns since the start of the run
  uint64_t in_flight = 0;    // at the end of the interval
  uint64_t differed = 0;
  int64_t lateness = 0;  // worst lateness of the replayer, ns
  // Operations issued, and the means of waiting and lateness of those that completed and did not fail, ns. None: not a trace.
  std::optional<uint64_t> issued;
  std::optional<double> waiting_mean, lateness_mean;
  std::optional<uint64_t> due;    // operations that were due; known at the end of a run with a schedule
  std::optional<uint64_t> ranks;  // number of ranks whose operations these are; none: a single process
  Measured all;
  std::vector<std::pair<OpKind, Measured>> kinds;  // kinds that were issued
};

class TimeSeries {
 public:
  // Which rows a series has. bounded: each of the first kWhole intervals has a row. Later rows have 2 intervals each, then 4, 8
  // and so on: a row lasts at most 1/3600 of the run until then. Memory grows with the logarithm of the length of the run.
  enum class Rows : uint8_t { all, bounded, none };
  static constexpr size_t kWhole = 7200;

  // `by_kind`: rows have their kinds.
  explicit TimeSeries(Rows rows = Rows::all, bool by_kind = true) : rows_(rows), by_kind_(by_kind) {}

  void add(const Progress& progress);
  // Adds an interval and returns it, valid until the next call.
  const SeriesInterval& add(const Interval& interval, std::optional<uint64_t> ranks = {});
  // Adds an interval that another series made of `counts`.
  void append(const SeriesInterval& interval, const Tally& counts);
  const std::vector<SeriesInterval>& rows() const { return intervals_; }
  // The interval that was added last; none: default values.
  const SeriesInterval& latest() const { return latest_; }
  // Adds how many operations were due in each row. due[i]: in [i * length, (i + 1) * length) ns. The last row has all that
  // follow.
  void set_due(const std::vector<uint64_t>& due, int64_t length);
  const Heat& heat() const { return heat_; }  // times of all kinds together

 private:
  void keep(const Tally& counts, const KindCounters& sum);  // sum: of all kinds

  Rows rows_;
  bool by_kind_;
  std::vector<SeriesInterval> intervals_;
  SeriesInterval latest_;
  uint64_t in_last_row_ = 0;  // intervals
  Tally last_row_;            // their counts, if a row has several
  Heat heat_;
  Progress progress_;
  uint64_t differed_ = 0;  // up to the previous interval
  int64_t lateness_ = 0;   // worst since the previous interval, ns
};

}  // namespace fsr
