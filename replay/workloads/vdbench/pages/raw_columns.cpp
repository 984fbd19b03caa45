// SPDX-License-Identifier: Apache-2.0
// The columns of runs on SDs.
#include <fmt/format.h>

#include "workloads/vdbench/pages/columns.hpp"

namespace fsr::vdbench {

namespace {

std::string numbers(const Figures& f, double seconds, Layout layout) {
  const KindCounters &all = f.requested, &reads = f.of(Operation::read), &writes = f.of(Operation::write);
  const double depth = seconds > 0 ? all.service.sum() / 1e9 / seconds : 0;
  std::string text = fmt::format("{:>11.{}f}{:>9.2f}{:>8}{:>7.2f}{:>9.3f}", rate(all, seconds), layout == Layout::v50407 ? 1 : 2,
                                 mebibytes(all, seconds), all.count ? all.bytes / all.count : 0,
                                 all.count ? 100.0 * double(reads.count) / double(all.count) : 0, mean_ms(all));
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
             "                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u "
             "  "
             "sys\n";
    return date_text(wall) +
           "    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  "
           "cpu%\n"
           "                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  "
           "depth "
           "sys+u   sys\n";
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

}  // namespace

std::unique_ptr<Columns> raw_columns(Layout layout) { return std::make_unique<RawColumns>(layout); }

}  // namespace fsr::vdbench
