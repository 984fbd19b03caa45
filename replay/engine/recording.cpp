// SPDX-License-Identifier: Apache-2.0
#include "engine/recording.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/target.hpp"
#include "trace/model.hpp"

namespace fsr {

constexpr size_t kWaiting = 4096;  // operations that may wait for an earlier one to end

struct Recording::Entry {
  enum State : uint8_t { in_flight, ended, withdrawn } state = in_flight;
  bool started = false;  // true: the start is in the file
  uint64_t seq = 0;
  int64_t start = 0;
  const Op* planned = nullptr;  // valid while in flight
  OpCopy op;
};

Recording::Recording(const std::string& path)
    : path_(path), fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
  if (fd_ < 0) throw std::runtime_error(path + ": " + (errno == EEXIST ? "exists already" : strerror(errno)));
}

Recording::~Recording() {
  if (fd_ < 0) return;
  // The recording was never started.
  close(fd_);
  unlink(path_.c_str());
}

void Recording::start(const TraceHeader& header, LiveState initial) {
  try {
    writer_ = std::make_unique<TraceWriter>(std::exchange(fd_, -1), header, WriterOptions{}, std::move(initial));
  } catch (const std::exception& e) {
    throw std::runtime_error(path_ + ": " + e.what());
  }
}

Recording::Entry* Recording::begin(const Op& op, int64_t issued) {
  std::lock_guard lock(mutex_);
  std::unique_ptr<Entry> entry;
  if (spare_.empty()) {
    entry = std::make_unique<Entry>();
  } else {
    entry = std::move(spare_.back());
    spare_.pop_back();
  }
  // Workers read the clock before they take the lock, so one may overtake another by a little.
  last_ = std::max(last_, issued - origin_);
  entry->state = Entry::in_flight;
  entry->started = false;
  entry->start = last_;
  entry->planned = &op;
  order_.push_back(std::move(entry));
  return order_.back().get();
}

void Recording::withdraw(Entry* entry) {
  std::lock_guard lock(mutex_);
  entry->state = Entry::withdrawn;
  settle();
}

// Returns the operation with the outcome that it had in this run.
static Op replayed(Op op, const Outcome& outcome, int64_t start, int64_t duration) {
  const uint16_t traits = kind_traits(op.kind);
  op.start = start;
  op.duration = std::max<int64_t>(duration, 0);
  op.error = outcome.error;
  op.result = outcome.error ? 0 : outcome.result;
  op.op_flags &= uint16_t(~(kOpUnfinished | kOpData));
  op.attr = !outcome.error && outcome.attr.valid ? &outcome.attr : nullptr;
  op.entries = outcome.error ? std::span<const DirEntry>() : outcome.entries;
  op.blocks = {};
  if (op.kind == OpKind::read || op.kind == OpKind::write) op.data = {};
  if (op.kind == OpKind::readlink || op.kind == OpKind::getxattr || op.kind == OpKind::listxattr)
    op.data = outcome.error ? std::string_view() : outcome.data;
  if (op.error && traits & kMakesHandle) op.handle = 0;
  if (op.error && (traits & kMakesObject || op.kind == OpKind::lookup)) op.object = kNoObject;
  if (op.kind == OpKind::lseek && !op.error) op.result = outcome.result;
  return op;
}

void Recording::end(Entry* entry, const Op& op, const Outcome& outcome, int64_t ended) {
  std::lock_guard lock(mutex_);
  entry->op.assign(replayed(op, outcome, entry->start, ended - origin_ - entry->start), true);
  entry->state = Entry::ended;
  end_ = std::max(end_, entry->op.op().end());
  if (!entry->started) {
    settle();
    return;
  }
  auto found = std::find_if(early_.begin(), early_.end(), [&](const auto& e) { return e.get() == entry; });
  try {
    writer_->add_end(entry->seq, entry->op.op());
  } catch (const std::exception& e) {
    failed(e.what());
  }
  recycle(std::move(*found));
  early_.erase(found);
}

void Recording::recycle(std::unique_ptr<Entry> entry) {
  entry->op.shrink();
  if (spare_.size() < kWaiting) spare_.push_back(std::move(entry));
}

// Writes the ended operations that began before all operations in flight.
void Recording::settle() {
  try {
    while (!order_.empty() && (order_.front()->state != Entry::in_flight || order_.size() > kWaiting)) {
      std::unique_ptr<Entry> entry = std::move(order_.front());
      order_.pop_front();
      if (entry->state == Entry::in_flight) {
        write_start(*entry);
        early_.push_back(std::move(entry));
        continue;
      }
      if (entry->state == Entry::ended) {
        writer_->tick(entry->start);
        writer_->add(entry->op.op());
      }
      recycle(std::move(entry));
    }
  } catch (const std::exception& e) {
    failed(e.what());
  }
}

void Recording::write_start(Entry& entry) {
  entry.started = true;
  Op op = begun(*entry.planned);
  op.start = entry.start;
  entry.seq = writer_->add_start(op);
}

void Recording::failed(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

void Recording::finish(bool whole, const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (!writer_) return;
  TraceClosing closing{.clean = whole, .reason = reason, .end = end_};
  try {
    for (const std::unique_ptr<Entry>& entry : order_) {  // left over if the run was abandoned
      if (entry->state == Entry::in_flight) write_start(*entry);
      if (entry->state == Entry::ended) writer_->add(entry->op.op());
    }
    writer_->finish(std::move(closing));
  } catch (const std::exception& e) {
    failed(e.what());
  }
  if (!failure_.empty()) throw std::runtime_error(path_ + ": " + failure_);
}

}  // namespace fsr
