// SPDX-License-Identifier: Apache-2.0
// Writes a job file of fio with the shape of a trace. It has number, sizes, sequential share and rate of reads and writes,
// operations in flight, and number and sizes of files. The file, offset and order of each operation and all names are lost. Syncs
// are lost, too, because with fsync= fio 3.33 does not keep to the shares of reads and writes.
#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "format.hpp"
#include "percents.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kMostJobSizes = 20;      // of a direction; fio reads 64 at most
constexpr uint64_t kLeastFile = 4 << 10;  // bytes

// Counts of reads, or of writes.
struct Direction {
  uint64_t count = 0, random = 0;      // random: did not begin where the previous one on the open file ended
  std::map<uint64_t, uint64_t> sizes;  // bytes: how many

  // "4096/75:10000/25": whole percents, which add up to 100.
  std::string split() const {
    std::vector<std::pair<uint64_t, uint64_t>> most(sizes.begin(), sizes.end());
    std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    if (most.size() > kMostJobSizes) most.resize(kMostJobSizes);
    std::string text;
    for (const auto& [size, percent] : whole_percents(most))
      text += fmt::format("{}{}/{}", text.empty() ? "" : ":", size, percent);
    return text;
  }
};

class FioJob final : public ExportFormat {
 public:
  explicit FioJob(const TraceHeader& header) : id_(header.id) {}

  Exported add(fmt::memory_buffer&, const Op& op, const Paths&) override {
    switch (op.kind) {
      case OpKind::read:
        return count(op, reads_);
      case OpKind::write:
        return count(op, writes_);
      case OpKind::lookup:
      case OpKind::open:
      case OpKind::flush:
      case OpKind::release:
        return Exported::unneeded;
      default:
        return Exported::no;
    }
  }

  void end(fmt::memory_buffer& out) override {
    const uint64_t requests = reads_.count + writes_.count;
    if (requests == 0) return;
    const double seconds = std::max(1e-3, double(last_ - first_) / 1e9);
    const auto jobs = std::max<uint64_t>(1, uint64_t(std::llround(busy_ / 1e9 / seconds)));
    uint64_t bytes = 0;
    for (const auto& [object, end] : files_) bytes += end;
    const uint64_t files = files_.size(), most = std::max(largest(reads_), largest(writes_));
    put(out, "; The shape of trace {}: {} reads and {} writes of {} files in {}.\n", id_, format_count(reads_.count),
        format_count(writes_.count), format_count(files), format_duration(last_ - first_));
    put(out, "; Lost: which file and offset each was for, their order and bursts, syncs, and every operation on names.\n");
    put(out, "[global]\nioengine=psync\nthread\ngroup_reporting\n\n[shape]\n");
    const bool both = reads_.count && writes_.count;
    put(out, "rw={}\n", both ? "randrw" : reads_.count ? "randread" : "randwrite");
    if (both) put(out, "rwmixread={}\n", std::llround(100.0 * double(reads_.count) / double(requests)));
    put(out, "bssplit={},{}\nbs_unaligned=1\n", (reads_.count ? reads_ : writes_).split(),
        (writes_.count ? writes_ : reads_).split());
    put(out, "percentage_random={},{}\n", random_percent(reads_), random_percent(writes_));
    put(out, "nrfiles={}\nfilesize={}\nfile_service_type=random\n", std::max<uint64_t>(1, files / jobs),
        std::max({kLeastFile, most, bytes / std::max<uint64_t>(1, files)}));
    // number_ios ends a job, so io_size is larger than any job needs.
    put(out, "io_size=1t\nnorandommap\n");
    put(out, "numjobs={}\nnumber_ios={}\nrate_process=poisson\nrate_iops={},{}\n", jobs, std::max<uint64_t>(1, requests / jobs),
        per_second(reads_, seconds, jobs), per_second(writes_, seconds, jobs));
  }

 private:
  template <class... Args>
  static void put(fmt::memory_buffer& out, fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
  }
  static uint64_t largest(const Direction& d) { return d.sizes.empty() ? 0 : d.sizes.rbegin()->first; }
  static long long random_percent(const Direction& d) {
    return d.count ? std::llround(100.0 * double(d.random) / double(d.count)) : 100;
  }
  // Returns at least 1 if there are operations, because fio takes 0 for no limit.
  static uint64_t per_second(const Direction& d, double seconds, uint64_t jobs) {
    return d.count ? std::max<uint64_t>(1, uint64_t(std::llround(double(d.count) / seconds / double(jobs)))) : 0;
  }

  Exported count(const Op& op, Direction& direction) {
    if (op.error || op.has(kOpUnfinished) || op.result == 0) return Exported::no;
    if (first_ == INT64_MIN) first_ = op.start;
    last_ = std::max(last_, op.end());
    busy_ += double(op.duration);
    ++direction.count;
    ++direction.sizes[op.result];
    uint64_t& next = positions_[op.handle];
    direction.random += op.offset != next;
    next = op.offset + op.result;
    uint64_t& end = files_[op.object];
    end = std::max(end, next);
    return Exported::whole;
  }

  const std::string id_;
  Direction reads_, writes_;
  int64_t first_ = INT64_MIN, last_ = INT64_MIN;
  double busy_ = 0;                                   // ns under way, sum
  std::unordered_map<HandleId, uint64_t> positions_;  // where the latest one on an open file ended
  std::unordered_map<ObjectId, uint64_t> files_;      // how far each was used
};

}  // namespace

const Exporter kFioJobExporter = {
    "fio-job", "a job file of fio with the shape of the trace",
    [](const TraceHeader& header) -> std::unique_ptr<ExportFormat> { return std::make_unique<FioJob>(header); }};

}  // namespace fsr::fstrace
