// SPDX-License-Identifier: Apache-2.0
// Writes data operations as blkparse prints block requests. Each file is a device of its own, with major number 259. A request
// has a line when it was queued and one when it completed, in order of time. Requests are widened to sectors of 512 bytes.
#include <algorithm>
#include <functional>
#include <queue>

#include "format.hpp"

namespace fsr::fstrace {

namespace {

constexpr uint64_t kSector = 512;

class Requests final : public ExportFormat {
 public:
  Exported add(fmt::memory_buffer& out, const Op& op, const Paths&) override {
    const bool read = op.kind == OpKind::read, write = op.kind == OpKind::write;
    if ((op.kind == OpKind::fsync && op.error) || (!read && !write && op.kind != OpKind::fsync)) return Exported::no;
    if (op.error || op.has(kOpUnfinished) || ((read || write) && op.result == 0)) return Exported::no;
    const uint64_t first = (read || write) ? op.offset / kSector : 0;
    const uint64_t end = (read || write) ? (op.offset + op.result + kSector - 1) / kSector : 0;
    complete_until(out, op.start);
    const int64_t pid = op.who ? number_among_clients(*op.who, op.who->pid) : 0;
    const std::string_view command = op.who ? op.who->command : std::string_view();
    const char* rwbs = read ? "R" : write ? "W" : "FWS";
    line(out, {op.start, op.object, 'Q', rwbs, first, end - first}, pid, command);
    completions_.push({op.end(), op.object, 'C', rwbs, first, end - first});
    const bool aligned = op.kind == OpKind::fsync || (op.offset % kSector == 0 && op.result % kSector == 0);
    return aligned ? Exported::whole : Exported::partly;
  }
  void end(fmt::memory_buffer& out) override { complete_until(out, INT64_MAX); }

 private:
  struct Event {
    int64_t time;
    ObjectId object;
    char action;
    const char* rwbs;
    uint64_t sector, sectors;
    bool operator>(const Event& other) const { return time > other.time; }
  };
  void line(fmt::memory_buffer& out, const Event& e, int64_t pid, std::string_view command) {
    const int64_t time = std::max<int64_t>(e.time, 0);
    fmt::format_to(std::back_inserter(out), "259,{} 0 {} {}.{:09} {} {} {} {} + {} [{}]\n", e.object, ++number_,
                   time / 1'000'000'000, time % 1'000'000'000, pid, e.action, e.rwbs, e.sector, e.sectors,
                   command.empty() ? "0" : command);
  }
  void complete_until(fmt::memory_buffer& out, int64_t time) {
    for (; !completions_.empty() && completions_.top().time <= time; completions_.pop()) line(out, completions_.top(), 0, "0");
  }

  std::priority_queue<Event, std::vector<Event>, std::greater<>> completions_;
  uint64_t number_ = 0;
};

}  // namespace

const Exporter kBlkparseExporter = {
    "blkparse", "data requests as blkparse prints them",
    [](const TraceHeader&) -> std::unique_ptr<ExportFormat> { return std::make_unique<Requests>(); }};

}  // namespace fsr::fstrace
