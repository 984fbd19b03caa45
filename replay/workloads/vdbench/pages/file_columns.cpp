// SPDX-License-Identifier: Apache-2.0
// The columns of runs on trees of files.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workloads/vdbench/pages/columns.hpp"

namespace fsr::vdbench {

namespace {

// Operations with columns of their own. The first ones always have them; the others only if a run performs them.
constexpr std::pair<Operation, const char*> kHeadings[] = {
    {Operation::mkdir, " ...mkdir...."},   {Operation::rmdir, " ...rmdir...."},   {Operation::create, " ...create..."},
    {Operation::open, " ....open...."},    {Operation::close, " ...close...."},   {Operation::remove, " ...delete..."},
    {Operation::getattr, " ..getattr..."}, {Operation::setattr, " ..setattr..."}, {Operation::access, " ...access..."},
    {Operation::copy, " ....copy...."},    {Operation::move, " ....move...."}};
constexpr size_t kAlways = 6;

class FileColumns final : public Columns {
 public:
  explicit FileColumns(const std::vector<PlannedRun>& runs) : operations_(kHeadings, kHeadings + kAlways) {
    for (size_t i = kAlways; i < std::size(kHeadings); ++i)
      if (std::ranges::any_of(runs, [&](const PlannedRun& run) {
            return std::ranges::any_of(run.file_works,
                                       [&](const FileWork& work) { return work.workload.operation == kHeadings[i].first; });
          }))
        operations_.push_back(kHeadings[i]);
  }
  std::string heading(int64_t wall) const override {
    return two_lines(date_text(wall) + " .Interval. .ReqstdOps... ...cpu%... ",
                     "                          rate   resp total  sys ");
  }
  std::string part_heading(const std::string& what) const override {
    return two_lines("              .ReqstdOps... ", fmt::format("{:<16}rate   resp ", what + ":"));
  }
  std::string line(const RunLine& line) const override {
    return fmt::format("{}{:>11}{}\n", clock_text(line.wall), line.label, numbers(line.all, line.seconds, &line.cpu));
  }
  std::string part_line(const std::string& name, const Figures& figures, double seconds) const override {
    return fmt::format("{:<13}{}\n", name, numbers(figures, seconds, nullptr));
  }

 private:
  std::string two_lines(std::string first, std::string second) const {
    first += " read ....read..... ....write.... ..mb/sec... mb/sec .xfer..";
    second += "  pct   rate   resp   rate   resp  read write  total    size";
    for (const auto& [operation, heading] : operations_) {
      first += heading;
      second += "  rate   resp";
    }
    return first + "\n" + second + "\n";
  }
  std::string numbers(const Figures& f, double seconds, const CpuUse* cpu) const {
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
    for (const auto& [operation, heading] : operations_)
      text += fmt::format(" {} {}", fit(rate(f.of(operation), seconds), 5, 1), fit(mean_ms(f.of(operation)), 6, 3));
    return text;
  }

  std::vector<std::pair<Operation, const char*>> operations_;
};

}  // namespace

std::unique_ptr<Columns> file_columns(const std::vector<PlannedRun>& runs) { return std::make_unique<FileColumns>(runs); }

}  // namespace fsr::vdbench
