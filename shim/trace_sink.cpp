// SPDX-License-Identifier: Apache-2.0
#include "trace_sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "util/units.hpp"

namespace fsr::shim {

static bool is_file(int fd) {
  struct stat s;
  return fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

// With the usual time, and the time in a ring and in the merger, a file is at most a second behind.
static WriterOptions writer_options(const SinkOptions& options) {
  const int64_t usual = options.stream ? 100'000'000 : 400'000'000;
  return {.level = 1, .block_ns = options.arrival_age + (options.block_time ? options.block_time : usual)};
}
constexpr int64_t kLookTime = 250'000'000;   // ns between two looks at the room that is left on the trace's file system
constexpr int64_t kGap = 1'000'000'000;      // ns between drops that count as one span
constexpr size_t kMostSpans = 256;           // in a closing statement; the last one takes in the rest
constexpr uint64_t kNotWanted = UINT64_MAX;  // number of an operation that is left out

TraceSink::TraceSink(int fd, const TraceHeader& header, SinkOptions options)
    : header_(header),
      options_(std::move(options)),
      watch_fd_(is_file(fd) ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1),  // a pipe ends with its last descriptor
      writer_(std::make_unique<TraceWriter>(fd, header, writer_options(options_))),
      rotate_at_(options_.rotate_bytes) {}

TraceSink::~TraceSink() {
  if (closer_.joinable()) closer_.join();
  if (watch_fd_ >= 0) close(watch_fd_);
}

uint64_t TraceSink::room_needed(uint64_t file_system_bytes) {
  return std::clamp<uint64_t>(file_system_bytes / 20, 2 << 20, 64 << 20);
}

void TraceSink::count(const Op& op) {
  latencies_.add(op);
  if (op.kind == OpKind::read || op.kind == OpKind::write)
    data_bytes_.store(data_bytes_.load(std::memory_order_relaxed) + op.result, std::memory_order_relaxed);
}

const Op& TraceSink::measured(const Op& op) {
  if (op.blocks.empty()) return op;
  measured_ = op;
  measured_.blocks = meter_.levels(op.blocks, op.data, op.object, op.offset, op.result);
  measured_.data = {};
  return measured_;
}

bool TraceSink::wanted(const Op& op) {
  if (options_.filter->wants(op)) return true;
  ++filtered_by_kind_[unsigned(op.kind)];
  filtered_.store(filtered_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return false;
}

void TraceSink::count_left_out() {
  if (!options_.left_out) return;
  const auto now = options_.left_out();
  uint64_t more = 0;
  for (unsigned kind = 0; kind < kOpKinds; ++kind) {
    filtered_by_kind_[kind] += now[kind] - left_out_[kind];
    more += now[kind] - left_out_[kind];
  }
  left_out_ = now;
  filtered_.store(filtered_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

void TraceSink::add(const Op& op) {
  if (options_.filter) {
    const bool want = wanted(op);
    options_.filter->learn(op);
    if (!want) return;
  }
  writer_->add(measured(op));
  ++by_kind_[unsigned(op.kind)];
  operations_.store(operations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  count(op);
}

uint64_t TraceSink::add_start(const Op& op) {
  if (options_.filter && !wanted(op)) return kNotWanted;
  uint64_t seq = writer_->add_start(op);
  ++by_kind_[unsigned(op.kind)];
  operations_.store(operations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return seq;
}

void TraceSink::add_end(uint64_t seq, const Op& op) {
  if (options_.filter) options_.filter->learn(op);
  if (seq == kNotWanted) return;
  writer_->add_end(seq, measured(op));
  count(op);
}

void TraceSink::note_dropped(int64_t now, const RecorderState& recorder) {
  const uint64_t more = recorder.dropped - dropped_;
  first_dropped_ = std::min(first_dropped_, recorder.first_dropped);
  dropped_ = recorder.dropped;
  const int64_t tick = std::exchange(tick_, now);
  if (more == 0) return;
  const int64_t first = std::exchange(first_dropped_, INT64_MAX), from = first == INT64_MAX ? tick : first;
  const bool goes_on = !dropped_spans_.empty() && (from - dropped_spans_.back().to < kGap || dropped_spans_.size() == kMostSpans);
  if (!goes_on) dropped_spans_.push_back({.from = from});
  DroppedSpan& span = dropped_spans_.back();
  span = {std::min(span.from, from), now, span.operations + more};
}

SinkState TraceSink::tick(int64_t now, const RecorderState& recorder) {
  note_dropped(now, recorder);
  count_left_out();
  writer_->tick(now);
  latencies_.publish(now);
  if (rotation_requested_.load() || (rotate_at_ && writer_->bytes_written() >= rotate_at_)) {
    rotate(now, recorder);
    rotation_requested_.store(false);
  }
  trace_bytes_.store(bytes(), std::memory_order_relaxed);
  if (full()) return full_;
  if (options_.max_time && now >= options_.max_time) return {"--max-time reached", false};
  if (now < look_time_) return {};
  look_time_ = now + kLookTime;
  return full_ = look_at_room(bytes());
}

bool TraceSink::full() {
  if (!full_.end.empty()) return true;
  const uint64_t bytes = this->bytes();
  if (options_.max_bytes && bytes >= options_.max_bytes)
    full_ = {"--max-size reached", false};
  else if (bytes >= look_bytes_)
    full_ = look_at_room(bytes);
  return !full_.end.empty();
}

SinkState TraceSink::look_at_room(uint64_t bytes) {
  struct statfs fs;
  if (fstatfs(watch_fd_, &fs) != 0 || fs.f_blocks == 0) return {};
  uint64_t block = uint64_t(fs.f_bsize), left = uint64_t(fs.f_bavail) * block;
  const uint64_t needed = room_needed(uint64_t(fs.f_blocks) * block);
  if (left < needed) return {"only " + format_size(left) + " free on the trace's file system", true};
  look_bytes_ = bytes + (left - needed) / 4;
  return {};
}

std::string TraceSink::rotation_failure() const {
  std::lock_guard lock(mutex_);
  return rotation_failure_;
}

bool TraceSink::removed() const {
  struct stat s;
  return piece() == 1 && fstat(watch_fd_, &s) == 0 && s.st_nlink == 0;
}

void TraceSink::rotation_failed(const std::string& why) {
  std::lock_guard lock(mutex_);
  rotation_failure_ = why;
}

void TraceSink::rotate(int64_t now, const RecorderState& recorder) {
  const unsigned number = piece_.load();
  int fd;
  try {
    if (!options_.pieces) throw std::runtime_error("this trace can't be split into pieces");
    fd = options_.pieces->open_piece(number + 1);
  } catch (const std::exception& e) {
    // No operation is lost, because the current piece goes on growing.
    rotation_failed(e.what());
    rotate_at_ += options_.rotate_bytes;
    return;
  }
  TraceClosing end = closing(now, recorder);
  end.clean = true;
  end.reason = kRotated;
  header_.piece = number + 1;
  header_.nfs = end.nfs;
  const int old = writer_->rotate(fd, header_, std::move(end));
  closed_bytes_ += uint64_t(std::max<off_t>(lseek(old, 0, SEEK_CUR), 0));
  if (closer_.joinable()) closer_.join();
  // A sync, or the removal of a large file, may take longer than rings last.
  auto put_away = [this, old, number] {
    if (fsync(old) != 0 && errno != EINVAL && errno != EROFS)
      rotation_failed("piece " + std::to_string(number) + ": " + strerror(errno));
    close(old);
    if (options_.keep && number + 1 > options_.keep) options_.pieces->remove_piece(number + 1 - options_.keep);
  };
  try {
    closer_ = std::thread(put_away);
  } catch (const std::system_error&) {
    put_away();
  }
  // Where the checkpoint of a large tree is as large as a piece, pieces have to be larger.
  if (options_.rotate_bytes) rotate_at_ = std::max(options_.rotate_bytes, 2 * writer_->bytes_written());
  piece_.store(number + 1);
}

TraceClosing TraceSink::closing(int64_t end, const RecorderState& recorder) {
  TraceClosing c;
  c.end = end;
  count_left_out();
  note_dropped(end, recorder);
  c.dropped = recorder.dropped - of_earlier_pieces_.dropped;
  c.dropped_spans = std::exchange(dropped_spans_, {});
  c.waited = recorder.waited - of_earlier_pieces_.waited;
  c.ring_time = recorder.ring_time;
  c.filtered = filtered_by_kind_;
  if (options_.nfs_counters) c.nfs = options_.nfs_counters();
  if (options_.mounted_meanwhile) options_.mounted_meanwhile(c);
  of_earlier_pieces_ = recorder;
  filtered_by_kind_ = {};
  return c;
}

void TraceSink::finish(bool clean, const std::string& reason, int64_t end, const RecorderState& recorder) {
  end_ = end;
  TraceClosing c = closing(end, recorder);
  c.clean = clean;
  c.reason = reason;
  try {
    writer_->finish(std::move(c));
  } catch (...) {
    settle();
    throw;
  }
  settle();
}

// Counts what is in the trace for good: on a full disk its last block may be missing.
void TraceSink::settle() {
  if (closer_.joinable()) closer_.join();
  operations_.store(writer_->operations() - writer_->lost(), std::memory_order_relaxed);
  trace_bytes_.store(bytes(), std::memory_order_relaxed);
}

}  // namespace fsr::shim
