// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/vdbench/files/file_context.hpp"

namespace fsr::vdbench {

void Figures::merge(const Figures& other) {
  for (unsigned i = 0; i < kOperations; ++i) operations[i].merge(other.operations[i]);
  requested.merge(other.requested);
}

double rate(const Cell& cell, double seconds) { return seconds > 0 ? double(cell.count) / seconds : 0; }
double mean_ms(const Cell& cell) { return cell.service.mean() / 1e6; }
double max_ms(const Cell& cell) { return double(cell.service.max()) / 1e6; }
double mebibytes(const Cell& cell, double seconds) { return seconds > 0 ? double(cell.bytes) / seconds / (1 << 20) : 0; }

double deviation_ms(const Cell& cell) {
  const auto n = double(cell.count);
  if (cell.count <= 1) return 0;
  const double sum = cell.service.sum();
  return std::sqrt(std::max(0.0, (n * cell.squares - sum * sum) / (n * (n - 1)))) / 1e6;
}

namespace {

// What a work was to do, of what it did.
bool is_requested(const PlannedRun& run, unsigned work, Operation operation) {
  const bool transfers = operation == Operation::read || operation == Operation::write;
  if (run.file_works.empty()) return transfers;
  const Operation asked = run.file_works[work].workload.operation;
  if (run.formats) return operation == Operation::write;
  if (asked == Operation::read || asked == Operation::write) return transfers;
  return operation == asked;
}

}  // namespace

RunLine line_of(const PlannedRun& run, const Tally& counts, double seconds) {
  RunLine line{.seconds = seconds};
  for (unsigned w = 0; w < run.works(); ++w) {
    Figures figures;
    for (unsigned o = 0; o < kOperations; ++o) {
      figures.operations[o] = counts[row_of(w, Operation(o))];
      if (is_requested(run, w, Operation(o))) figures.requested.merge(figures.operations[o]);
    }
    line.all.merge(figures);
    line.works.push_back(std::move(figures));
  }
  return line;
}

RunLine average_of(const RunRecord& record) {
  const size_t first = record.intervals.size() > record.warmup ? record.warmup : 0;
  RunLine average{.label = fmt::format("avg_{}-{}", first + 1, record.intervals.size()), .seconds = 0};
  for (size_t i = first; i < record.intervals.size(); ++i) {
    const RunLine& line = record.intervals[i];
    average.all.merge(line.all);
    average.works.resize(line.works.size());
    for (size_t w = 0; w < line.works.size(); ++w) average.works[w].merge(line.works[w]);
    average.seconds += line.seconds;
    average.wall = line.wall;
    average.cpu.user += line.cpu.user * line.seconds;
    average.cpu.system += line.cpu.system * line.seconds;
    average.cpu.wait += line.cpu.wait * line.seconds;
    average.cpu.idle += line.cpu.idle * line.seconds;
  }
  if (average.seconds > 0)
    for (double* use : {&average.cpu.user, &average.cpu.system, &average.cpu.wait, &average.cpu.idle}) *use /= average.seconds;
  return average;
}

}  // namespace fsr::vdbench
