// SPDX-License-Identifier: Apache-2.0
// The figures of an interval of a run, or of its average. Every page and every other form of results is made from these lines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/cpu_use.hpp"
#include "measure/tally.hpp"
#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

// Figures of some works together; times in ns.
struct Figures {
  std::array<KindCounters, kOperations> operations;
  KindCounters requested;  // what the works were to do; opens and closes of reads and writes are not
  const KindCounters& of(Operation operation) const { return operations[unsigned(operation)]; }
  void merge(const Figures& other);
};

struct RunLine {
  std::string label;    // "3", "avg_2-5"
  unsigned number = 0;  // of the interval; 0: an average
  int64_t wall = 0;     // ns since the Unix epoch, when it was told
  double seconds = 1;   // seconds that it covers
  CpuUse cpu;
  Figures all;
  std::vector<Figures> works;  // by work
};

// The part of a run, formats included, that one of several ranks did.
struct RankLine {
  unsigned rank = 0;
  std::string host;
  double seconds = 0;  // until its threads had ended
  uint64_t operations = 0, failed = 0, bytes = 0;
  uint64_t threads = 0, read = 0, written = 0;  // bytes
};

// A run, while and after it is performed. Constant for pages. As large after a day as after a minute.
struct RunRecord {
  const PlannedRun* run = nullptr;
  int64_t wall = 0;        // ns since the Unix epoch, when it began
  unsigned warmup = 1;     // intervals that the average leaves out if there are others
  unsigned intervals = 0;  // so far
  double seconds = 0;      // of all of them
  RunLine latest;          // of the intervals
  RunLine average;         // so far
  std::string events;      // "Miscellaneous statistics", lines
  uint64_t errors = 0;
  std::vector<RankLine> ranks;  // at its end; of one alone none
};

double rate(const KindCounters& cell, double seconds);
double mean_ms(const KindCounters& cell);
double deviation_ms(const KindCounters& cell);  // of a sample
double max_ms(const KindCounters& cell);
double mebibytes(const KindCounters& cell, double seconds);  // a second

// From the rows of the tally.
RunLine line_of(const PlannedRun& run, const Tally& counts, double seconds);
// Makes it the record's latest interval, with its number, and adds it to the average.
void add_interval(RunRecord& record, RunLine line);
// Text that says what kept a run from its requested rate. Empty: the run reached 99.5 % of the rate.
std::string limit_of(const RunRecord& record);

}  // namespace fsr::vdbench
