// SPDX-License-Identifier: Apache-2.0
#include "trace_sink.hpp"

#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>

#include "util/units.hpp"

namespace fsr {

// With the time in a ring and in the merger, the file is at most a second behind.
const WriterOptions kOptions{.block_ns = 400'000'000};

TraceSink::TraceSink(int fd, const TraceHeader& header, std::function<std::string()> closing_mountstats)
    : watch_fd_(fcntl(fd, F_DUPFD_CLOEXEC, 0)),
      writer_(std::make_unique<TraceWriter>(fd, header, kOptions)),
      closing_mountstats_(std::move(closing_mountstats)) {}

TraceSink::~TraceSink() {
  if (watch_fd_ >= 0) close(watch_fd_);
}

uint64_t TraceSink::room_needed(uint64_t file_system_bytes) {
  return std::clamp<uint64_t>(file_system_bytes / 20, 2 << 20, 64 << 20);
}

void TraceSink::count(const Op& op) {
  if (op.kind == OpKind::read || op.kind == OpKind::write)
    data_bytes_.store(data_bytes_.load(std::memory_order_relaxed) + op.result, std::memory_order_relaxed);
}

void TraceSink::add(const Op& op) {
  writer_->add(op);
  ++by_kind_[unsigned(op.kind)];
  operations_.store(operations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  count(op);
}

uint64_t TraceSink::add_start(const Op& op) {
  uint64_t seq = writer_->add_start(op);
  ++by_kind_[unsigned(op.kind)];
  operations_.store(operations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return seq;
}

void TraceSink::add_end(uint64_t seq, const Op& op) {
  writer_->add_end(seq, op);
  count(op);
}

std::string TraceSink::tick(int64_t now) {
  writer_->tick(now);
  trace_bytes_.store(writer_->bytes_written(), std::memory_order_relaxed);
  struct statfs fs;
  if (fstatfs(watch_fd_, &fs) != 0 || fs.f_blocks == 0) return {};
  uint64_t block = uint64_t(fs.f_bsize), left = uint64_t(fs.f_bavail) * block;
  if (left >= room_needed(uint64_t(fs.f_blocks) * block)) return {};
  return "only " + format_size(left) + " left on the trace's file system";
}

void TraceSink::finish(bool clean, const std::string& reason, int64_t end, uint64_t dropped, uint64_t waited) {
  end_ = end;
  TraceClosing closing;
  closing.clean = clean;
  closing.reason = reason;
  closing.end = end;
  closing.dropped = dropped;
  closing.waited = waited;
  if (closing_mountstats_) closing.mountstats = closing_mountstats_();
  writer_->finish(std::move(closing));
  operations_.store(writer_->operations() - writer_->lost(), std::memory_order_relaxed);
  trace_bytes_.store(writer_->bytes_written(), std::memory_order_relaxed);
}

}  // namespace fsr
