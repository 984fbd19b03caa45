// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/vdbench/files/tree_thread.hpp"

namespace fsr::vdbench {

void Figures::merge(const Figures& other) {
  for (unsigned i = 0; i < kOperations; ++i) operations[i].merge(other.operations[i]);
  requested.merge(other.requested);
}

double rate(const KindCounters& cell, double seconds) { return seconds > 0 ? double(cell.count) / seconds : 0; }
double mean_ms(const KindCounters& cell) { return cell.service.mean() / 1e6; }
double max_ms(const KindCounters& cell) { return double(cell.service.max()) / 1e6; }
double mebibytes(const KindCounters& cell, double seconds) { return seconds > 0 ? double(cell.bytes) / seconds / (1 << 20) : 0; }
double queue_depth(const KindCounters& cell, double seconds) { return seconds > 0 ? cell.service.sum() / 1e9 / seconds : 0; }

double all_mebibytes(const Figures& figures, double seconds) {
  return mebibytes(figures.of(Operation::read), seconds) + mebibytes(figures.of(Operation::write), seconds);
}

double read_percent(const Figures& figures) {
  const uint64_t reads = figures.of(Operation::read).count, all = reads + figures.of(Operation::write).count;
  return all ? 100.0 * double(reads) / double(all) : 0;
}

uint64_t mean_size(const Figures& figures) {
  const KindCounters &reads = figures.of(Operation::read), &writes = figures.of(Operation::write);
  const uint64_t count = reads.count + writes.count;
  return count ? (reads.bytes + writes.bytes) / count : 0;
}

namespace {

double deviation_of_sample(double n, double sum, double squares) {
  return n <= 1 ? 0 : std::sqrt(std::max(0.0, (n * squares - sum * sum) / (n * (n - 1))));
}

}  // namespace

double deviation_ms(const KindCounters& cell) {
  return deviation_of_sample(double(cell.count), cell.service.sum(), cell.squares) / 1e6;
}

void RateSpread::add(double rate) {
  ++intervals;
  sum += rate;
  squares += rate * rate;
  most = std::max(most, rate);
}

double RateSpread::deviation() const { return deviation_of_sample(intervals, sum, squares); }

namespace {

// True for operations that the parameters request for the work, unlike opens and closes that these need.
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

CpuUse mean_of(const CpuUse& a, double weight_a, const CpuUse& b, double weight_b) {
  CpuUse mean;
  for (double CpuUse::*part : {&CpuUse::user, &CpuUse::system, &CpuUse::wait, &CpuUse::idle})
    mean.*part = (a.*part * weight_a + b.*part * weight_b) / (weight_a + weight_b);
  return mean;
}

RunLine line_of_ranks(const RunLine& line, const std::vector<unsigned>& ranks) {
  if (line.ranks.empty()) return line;
  RunLine its{.label = line.label, .number = line.number, .wall = line.wall, .seconds = line.seconds};
  its.works.resize(line.works.size());
  for (unsigned rank : ranks) {
    if (rank >= line.ranks.size()) continue;
    const RunLine& one = line.ranks[rank];
    if (rank == ranks[0]) its.cpu = one.cpu;
    its.all.merge(one.all);
    for (size_t w = 0; w < one.works.size(); ++w) its.works[w].merge(one.works[w]);
  }
  return its;
}

namespace {

// Adds an interval to the average of a run, or of a rank's part in it.
void add_to(RunLine& average, const RunLine& line) {
  average.all.merge(line.all);
  average.works.resize(line.works.size());
  for (size_t w = 0; w < line.works.size(); ++w) average.works[w].merge(line.works[w]);
  if (average.seconds + line.seconds > 0) average.cpu = mean_of(average.cpu, average.seconds, line.cpu, line.seconds);
  average.seconds += line.seconds;
  average.ranks.resize(std::max(average.ranks.size(), line.ranks.size()), {.seconds = 0});
  for (size_t rank = 0; rank < line.ranks.size(); ++rank) add_to(average.ranks[rank], line.ranks[rank]);
}

}  // namespace

void add_interval(RunRecord& record, RunLine line) {
  line.number = ++record.intervals;
  line.label = std::to_string(line.number);
  record.seconds += line.seconds;
  RunLine& average = record.average;
  // A format may do everything in its first interval, and only wait for storage in others.
  const bool keeps_all = record.run->formats && line.all.requested.count == 0;
  if (record.intervals == 1 || (record.intervals == record.warmup + 1 && !keeps_all)) {
    average = {.seconds = 0};
    record.averaged_from = record.intervals;
  }
  average.label = fmt::format("avg_{}-{}", record.averaged_from, record.intervals);
  for (unsigned i = 0; i <= kOperations; ++i) {
    const double its = rate(i < kOperations ? line.all.operations[i] : line.all.requested, line.seconds);
    line.rates[i].add(its);
    average.rates[i].add(its);
  }
  add_to(average, line);
  record.latest = std::move(line);
}

const char* part_words(const PlannedRun& run, PartKind kind) {
  if (run.of_files()) return kind == PartKind::storage ? "FSD" : "FWD";
  return kind == PartKind::storage ? "SD" : "WD";
}

std::vector<RunPart> parts_of(const PlannedRun& run, PartKind kind) {
  std::vector<RunPart> parts;
  auto add = [&](const std::string& name, double share, size_t work) {
    auto part = std::find_if(parts.begin(), parts.end(), [&](const RunPart& p) { return p.name == name; });
    if (part == parts.end()) part = parts.insert(parts.end(), RunPart{.name = name, .share = 0, .works = {}});
    part->share += share;
    part->works.push_back(work);
  };
  for (size_t w = 0; w < run.works(); ++w)
    add(kind == PartKind::storage ? run.storage_of(w) : run.name_of(w), run.share_of(w), w);
  return parts;
}

Figures figures_of(const RunPart& part, const RunLine& line) {
  Figures figures;
  for (size_t work : part.works) figures.merge(line.works[work]);
  return figures;
}

namespace {

// Returns the average number of operations in flight.
double in_flight(const Figures& figures, double seconds) {
  double sum = 0;
  for (const KindCounters& cell : figures.operations) sum += queue_depth(cell, seconds);
  return sum;
}

}  // namespace

std::string limit_of(const RunRecord& record) {
  constexpr double kReached = 0.995, kBusy = 90, kAllAtWork = 0.9;
  const PlannedRun& run = *record.run;
  const RunLine& average = record.average;
  if (run.formats || run.rate.kind != Rate::fixed || !run.run->rate_steps.empty() ||
      rate(average.all.requested, average.seconds) >= kReached * run.rate.value)
    return {};
  double busiest = average.cpu.busy();
  for (const RunLine& rank : average.ranks) busiest = std::max(busiest, rank.cpu.busy());
  if (busiest >= kBusy)
    return fmt::format("{} machine, whose processors were {:.0f} % busy", average.ranks.empty() ? "this" : "a", busiest);
  std::string full;
  unsigned threads = 0;
  for (size_t w = 0; w < average.works.size(); ++w) {
    threads += run.threads_of(w);
    if (in_flight(average.works[w], average.seconds) < kAllAtWork * run.threads_of(w)) continue;
    full += (full.empty() ? "" : ", ") + run.name_of(w);
  }
  if (!full.empty())
    return fmt::format("the target: all threads of {} waited for the target nearly all the time; more threads may reach more",
                       full);
  return fmt::format(
      "neither the processors ({:.0f} % busy) nor the threads ({:.1f} of {} waited for the target): blocked work, or a target "
      "that serves one operation at a time",
      average.cpu.busy(), in_flight(average.all, average.seconds), threads);
}

}  // namespace fsr::vdbench
