// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_source.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/added_lookup.hpp"

namespace fsr {

namespace {

constexpr size_t kWindowOps = 65'536;           // operations that are gathered for a window, about
constexpr int kLook = 50;                       // ms between two looks at whether the run has ended
constexpr int64_t kMostAhead = 1'000'000'000;   // ns before its first operation is due at which a window is passed on, at most
constexpr int64_t kMostWindow = 250'000'000;    // recorded ns of a window, about
constexpr int64_t kMostTravel = 1'000'000'000;  // ns from an operation's end to its arrival here, at most as a rule

// Returns how many operations form the next window.
size_t window_end(const std::vector<Op>& ops, int64_t length) {
  int64_t end = ops.front().start;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].start - ops.front().start >= length && ops[i].start >= end) return i;
    end = std::max(end, ops[i].has(kOpUnfinished) ? ops[i].start : ops[i].end());
  }
  return ops.size();
}

}  // namespace

LiveSource::LiveSource(StreamReader& reader, LiveImage& image, Clock& clock, int64_t lag, const std::atomic<int>* stop)
    : queue_(reader), image_(image), clock_(clock), lag_(lag), window_length_(std::min(kMostWindow, lag / 8)), stop_(stop) {}

bool LiveSource::over() const {
  return (stop_ && stop_->load(std::memory_order_relaxed)) || (run_ended_ && run_ended_->load(std::memory_order_relaxed));
}

int64_t LiveSource::first_start() {
  while (!read_window() && !stream_ended_ && !over()) {
  }
  if (window_.ops.empty()) return INT64_MAX;
  began_ = clock_.now();
  return first_ = window_.ops.front().start;
}

// Gathers the operations of a window. False: none came.
bool LiveSource::read_window() {
  OpBatch came;
  bool paused = false;
  auto complete = [this] {
    const auto& ops = gathered_.ops;
    return ops.size() >= kWindowOps || (!ops.empty() && ops.back().start - ops.front().start >= 2 * window_length_);
  };
  while (!paused && !stream_ended_ && !complete()) {
    const StreamReader::Wait wait = queue_.next_within(came, gathered_.ops.empty() ? kLook : int(window_length_ / 2'000'000));
    stream_ended_ = wait == StreamReader::Wait::end;
    paused = wait == StreamReader::Wait::nothing;
    if (wait != StreamReader::Wait::came) continue;
    for (const Op& op : came.ops) gathered_.ops.push_back(copy_op(op, gathered_.arena));
    come_ = clock_.now();
  }
  if (gathered_.ops.empty()) return false;
  const size_t end = complete() ? window_end(gathered_.ops, window_length_) : gathered_.ops.size();
  OpBatch rest;
  for (size_t i = end; i < gathered_.ops.size(); ++i) rest.ops.push_back(copy_op(gathered_.ops[i], rest.arena));
  gathered_.ops.resize(end);
  window_ = std::move(gathered_);
  gathered_ = std::move(rest);
  operations_ += end;
  return true;
}

// Tells the planner that all operations before `start` have ended.
bool LiveSource::fill(OpBatch& batch, int64_t start) {
  if (std::exchange(told_, true)) return false;
  Op& op = batch.ops.emplace_back();
  op.kind = OpKind::lookup;
  op.seq = kFirstAddedLookup + fillers_++;
  op.start = start;
  return true;
}

bool LiveSource::next(OpBatch& batch) {
  batch.clear();
  while (window_.ops.empty() && !read_window()) {
    if (stream_ended_ || over()) return false;
    if (clock_.now() - come_ > std::min(kMostTravel, lag_ / 2) && fill(batch, last_end_)) return true;
  }
  const int64_t start = window_.ops.front().start;
  const int64_t due = began_ + lag_ + (start - first_);
  const int64_t ahead = std::min(kMostAhead, lag_ / 2);
  if (clock_.now() < due - ahead && fill(batch, std::min(start, last_end_))) return true;
  while (clock_.now() < due - ahead) {
    if (over()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(kLook));
  }
  image_.prepare(window_);
  behind_ = std::max(behind_, clock_.now() - due);
  for (const Op& op : window_.ops) last_end_ = std::max(last_end_, op.has(kOpUnfinished) ? op.start : op.end());
  told_ = false;
  std::swap(batch, window_);
  window_.clear();
  return true;
}

}  // namespace fsr
