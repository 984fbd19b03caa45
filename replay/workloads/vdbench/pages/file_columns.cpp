// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/file_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fsr::vdbench {

namespace {

const char* heading_of(Operation operation) {
  switch (operation) {
    case Operation::mkdir:
      return " ...mkdir....";
    case Operation::rmdir:
      return " ...rmdir....";
    case Operation::create:
      return " ...create...";
    case Operation::open:
      return " ....open....";
    case Operation::close:
      return " ...close....";
    case Operation::remove:
      return " ...delete...";
    case Operation::getattr:
      return " ..getattr...";
    case Operation::setattr:
      return " ..setattr...";
    case Operation::access:
      return " ...access...";
    case Operation::copy:
      return " ....copy....";
    default:
      return " ....move....";
  }
}

}  // namespace

FileColumns::FileColumns(const std::vector<PlannedRun>& runs)
    : operations_({Operation::mkdir, Operation::rmdir, Operation::create, Operation::open, Operation::close, Operation::remove}) {
  for (Operation extra : {Operation::getattr, Operation::setattr, Operation::access, Operation::copy, Operation::move})
    if (std::any_of(runs.begin(), runs.end(), [&](const PlannedRun& run) {
          return std::any_of(run.file_works.begin(), run.file_works.end(),
                             [&](const FileWork& work) { return work.workload.operation == extra; });
        }))
      operations_.push_back(extra);
}

std::string FileColumns::heading(int64_t wall) const {
  std::string first =
      date_text(wall) + " .Interval. .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer..";
  std::string second =
      "                          rate   resp total  sys   pct   rate   resp   rate   resp  read write  total    size";
  for (Operation operation : operations_) {
    first += heading_of(operation);
    second += "  rate   resp";
  }
  return first + "\n" + second + "\n";
}

std::string FileColumns::part_heading(const std::string& what) const {
  std::string first = "              .ReqstdOps...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer..";
  std::string second = fmt::format("{:<16}rate   resp   pct   rate   resp   rate   resp  read write  total    size", what + ":");
  for (Operation operation : operations_) {
    first += heading_of(operation);
    second += "  rate   resp";
  }
  return first + "\n" + second + "\n";
}

std::string FileColumns::numbers(const Figures& f, double seconds, const CpuUse* cpu) const {
  const KindCounters &reads = f.of(Operation::read), &writes = f.of(Operation::write);
  const uint64_t transfers = reads.count + writes.count;
  std::string text = fmt::format(" {} {}", fit(rate(f.requested, seconds), 6, 1), fit(mean_ms(f.requested), 6, 3));
  if (cpu) text += fmt::format(" {} {}", fit(cpu->busy(), 5, 1), fit(cpu->system, 4, 2));
  text += fmt::format(" {}", fit(transfers ? 100.0 * double(reads.count) / double(transfers) : 0, 5, 1));
  for (const KindCounters* cell : {&reads, &writes})
    text += fmt::format(" {} {}", fit(rate(*cell, seconds), 6, 1), fit(mean_ms(*cell), 6, 3));
  const double read = mebibytes(reads, seconds), written = mebibytes(writes, seconds);
  text += fmt::format(" {} {} {} {:>7}", fit(read, 5, 2), fit(written, 5, 2), fit(read + written, 6, 2),
                      transfers ? (reads.bytes + writes.bytes) / transfers : 0);
  for (Operation operation : operations_)
    text += fmt::format(" {} {}", fit(rate(f.of(operation), seconds), 5, 1), fit(mean_ms(f.of(operation)), 6, 3));
  return text;
}

std::string FileColumns::line(const RunLine& line) const {
  return fmt::format("{}{:>11}{}\n", clock_text(line.wall), line.label, numbers(line.all, line.seconds, &line.cpu));
}

std::string FileColumns::part_line(const std::string& name, const Figures& figures, double seconds) const {
  return fmt::format("{:<13}{}\n", name, numbers(figures, seconds, nullptr));
}

}  // namespace fsr::vdbench
