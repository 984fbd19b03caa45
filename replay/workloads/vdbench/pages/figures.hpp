// SPDX-License-Identifier: Apache-2.0
// Figures of an interval of a run, or of its average. All pages and other forms of results are made from these.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/cpu_use.hpp"
#include "measure/tally.hpp"
#include "workloads/vdbench/files/blocked.hpp"
#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

// Figures of several works together; times are in ns.
struct Figures {
  std::array<KindCounters, kOperations> operations;
  KindCounters requested;  // requested operations, without the opens and closes of reads and writes
  const KindCounters& of(Operation operation) const { return operations[unsigned(operation)]; }
  void merge(const Figures& other);
};

// Rates of intervals.
struct RateSpread {
  unsigned intervals = 0;
  double sum = 0, squares = 0, most = 0;
  void add(double rate);
  double deviation() const;  // standard deviation of a sample; 0 for a single interval
};

struct RunLine {
  std::string label;    // "3", "avg_2-5"
  unsigned number = 0;  // number of the interval; 0: it is an average
  int64_t wall = 0;     // ns since the Unix epoch, when the line was reported
  double seconds = 1;   // duration of the interval
  CpuUse cpu;
  Figures all;
  std::vector<Figures> works;                     // of each work
  std::vector<RunLine> ranks;                     // of each rank; empty: there is a single one
  std::array<RateSpread, kOperations + 1> rates;  // of each operation; the last: of all that are requested
};

// Totals of one rank's part in a run, formats included. Plain numbers, which ranks send as they are.
struct RankTotals {
  double seconds = 0;  // until its threads had ended
  uint64_t operations = 0, failed = 0, bytes = 0, errors = 0;
  uint64_t threads = 0, read = 0, written = 0;  // bytes
  uint64_t checked = 0, wrong = 0;              // checked: blocks of data validation; wrong: of these
  Events events{};
};
struct RankLine : RankTotals {
  unsigned rank = 0;
  std::string host;
};

// A run, during and after its execution. Constant for pages. Its size does not grow with the duration of the run.
struct RunRecord {
  const PlannedRun* run = nullptr;
  int64_t wall = 0;            // start, ns since the Unix epoch
  unsigned warmup = 1;         // intervals that the average leaves out, if there are others
  unsigned intervals = 0;      // number so far
  unsigned averaged_from = 1;  // number of the first interval in the average
  double seconds = 0;          // duration of all intervals
  RunLine latest;              // the last interval
  RunLine average;             // average so far
  std::string events;          // lines of "Miscellaneous statistics"
  uint64_t errors = 0;
  uint64_t checked = 0, wrong = 0;          // blocks of data validation on all ranks; set at the end
  std::vector<std::string> wrong_blocks{};  // their ranges, a line for each; set at the end
  std::vector<RankLine> ranks;              // set at the end; empty for a single process
};

double rate(const KindCounters& cell, double seconds);
double mean_ms(const KindCounters& cell);
double deviation_ms(const KindCounters& cell);  // standard deviation of a sample
double max_ms(const KindCounters& cell);
double mebibytes(const KindCounters& cell, double seconds);    // per second
double queue_depth(const KindCounters& cell, double seconds);  // average number in flight
// Figures of reads and writes.
double all_mebibytes(const Figures& figures, double seconds);  // per second
double read_percent(const Figures& figures);
uint64_t mean_size(const Figures& figures);  // bytes

// Returns the mean of two uses, each with its weight; at least one weight is above 0.
CpuUse mean_of(const CpuUse& a, double weight_a, const CpuUse& b, double weight_b);
// Returns the part of some ranks in a line, with the processor use of the first of them.
RunLine line_of_ranks(const RunLine& line, const std::vector<unsigned>& ranks);
// Returns the figures in the rows of the tally.
RunLine line_of(const PlannedRun& run, const Tally& counts, double seconds);
// Makes `line` the record's last interval, with its number, and adds it to the average.
void add_interval(RunRecord& record, RunLine line);
// Works of one SD or FSD, or of one WD or FWD.
struct RunPart {
  std::string name;  // "sd1"
  double share = 0;  // percent of the requested rate
  std::vector<size_t> works;
};

enum class PartKind : uint8_t { storage, workload };  // SD or FSD, WD or FWD

// Returns "SD", "FSD", "WD" or "FWD".
const char* part_words(const PlannedRun& run, PartKind kind);
// Returns the parts in the order of their first works.
std::vector<RunPart> parts_of(const PlannedRun& run, PartKind kind);
Figures figures_of(const RunPart& part, const RunLine& line);

// Returns the reason why a run missed its requested rate. Empty: the run reached 99.5 % of the rate.
std::string limit_of(const RunRecord& record);

}  // namespace fsr::vdbench
