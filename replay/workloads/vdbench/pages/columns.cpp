// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/columns.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "util/clock_ns.hpp"

namespace fsr::vdbench {

namespace {

std::string numbers(const Figures& f, double seconds, Layout layout) {
  const KindCounters &all = f.requested, &reads = f.of(Operation::read), &writes = f.of(Operation::write);
  const double depth = queue_depth(all, seconds);
  std::string text = fmt::format("{:>11.{}f}{:>9.2f}{:>8}{:>7.2f}{:>9.3f}", rate(all, seconds), layout == Layout::v50407 ? 1 : 2,
                                 mebibytes(all, seconds), mean_size(f), read_percent(f), mean_ms(all));
  if (layout != Layout::v500) text += fmt::format("{:>9.3f}{:>9.3f}", mean_ms(reads), mean_ms(writes));
  if (layout == Layout::v50407)
    return text + fmt::format("{:>9.2f}{:>9.2f}{:>9.3f}{:>7.1f}", max_ms(reads), max_ms(writes), deviation_ms(all), depth);
  text += fmt::format("{:>9.3f}{:>9.3f}", max_ms(all), deviation_ms(all));
  return layout == Layout::v500 ? text : text + fmt::format("{:>6.1f}", depth);
}

class RawColumns final : public Columns {
 public:
  explicit RawColumns(Layout layout) : layout_(layout) {}
  std::string heading(int64_t wall) const override {
    if (layout_ == Layout::v500)
      return date_text(wall) +
             "  interval        i/o   MB/sec   bytes   read     resp     resp     resp    cpu%  cpu%\n"
             "                             rate  1024**2     i/o    pct     time      max   stddev sys+usr   sys\n";
    if (layout_ == Layout::v50406)
      return date_text(wall) +
             "  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%\n"
             "                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth "
             "sys+u   sys\n";
    return date_text(wall) +
           "    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  "
           "cpu%  cpu%\n"
           "                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  "
           "depth sys+u   sys\n";
  }
  std::string line(const RunLine& line) const override {
    return fmt::format("{}{:>{}}{}{:>{}.1f}{:>6.1f}\n", clock_text(line.wall), line.label, layout_ == Layout::v50407 ? 12 : 10,
                       numbers(line.all, line.seconds, layout_), line.cpu.busy(), layout_ == Layout::v500 ? 8 : 6,
                       line.cpu.system);
  }
  std::string part_heading(const std::string& what) const override {
    if (layout_ == Layout::v50407)
      return "                     i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue \n" +
             fmt::format("{:<20}rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth \n",
                         what + ":");
    return "                     i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue \n" +
           fmt::format("{:<20}rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth \n", what + ":");
  }
  std::string part_line(const std::string& name, const Figures& figures, double seconds) const override {
    return fmt::format("{:<13}{} \n", name, numbers(figures, seconds, layout_ == Layout::v500 ? Layout::v50406 : layout_));
  }

 private:
  const Layout layout_;
};

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
    std::string text = fmt::format(" {} {}", fit(rate(f.requested, seconds), 6, 1), fit(mean_ms(f.requested), 6, 3));
    if (cpu) text += fmt::format(" {} {}", fit(cpu->busy(), 5, 1), fit(cpu->system, 4, 2));
    text += fmt::format(" {}", fit(read_percent(f), 5, 1));
    for (const KindCounters* cell : {&reads, &writes})
      text += fmt::format(" {} {}", fit(rate(*cell, seconds), 6, 1), fit(mean_ms(*cell), 6, 3));
    text += fmt::format(" {} {} {} {:>7}", fit(mebibytes(reads, seconds), 5, 2), fit(mebibytes(writes, seconds), 5, 2),
                        fit(all_mebibytes(f, seconds), 6, 2), mean_size(f));
    for (const auto& [operation, heading] : operations_)
      text += fmt::format(" {} {}", fit(rate(f.of(operation), seconds), 5, 1), fit(mean_ms(f.of(operation)), 6, 3));
    return text;
  }

  std::vector<std::pair<Operation, const char*>> operations_;
};

}  // namespace

Layout layout_of(const std::string& version) {
  return version == "5.00" ? Layout::v500 : version == "5.04.06" ? Layout::v50406 : Layout::v50407;
}

std::string fit(double value, unsigned width, unsigned decimals) {
  std::string text = fmt::format("{:{}.{}f}", value, width, decimals);
  return text.size() <= width || decimals == 0 ? text : fit(value, width, decimals - 1);
}

std::string clock_text(int64_t wall) {
  return fmt::format("{:%H:%M:%S}.{:03}", fmt::localtime(time_t(wall / kSecond)), wall % kSecond / 1'000'000);
}

std::string date_text(int64_t wall) { return fmt::format("{:%b %d, %Y}", fmt::localtime(time_t(wall / kSecond))); }

std::string timed(int64_t wall, const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += clock_text(wall) + " " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

std::unique_ptr<Columns> make_columns(const std::vector<PlannedRun>& runs, Layout layout) {
  if (!runs.empty() && runs[0].systems.empty()) return std::make_unique<RawColumns>(layout);
  return std::make_unique<FileColumns>(runs);
}

}  // namespace fsr::vdbench
