// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_source.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "base/added_lookup.hpp"
#include "plan/clones.hpp"

namespace fsr {

namespace {

constexpr size_t kWindowOps = 65'536;           // operations that are gathered for a window, about, of all clones
constexpr size_t kLeastWindowOps = 4096;        // the same of one clone, at least
constexpr size_t kMostLater = 65'536;           // captured operations behind a window that are looked at, about
constexpr int kLook = 50;                       // ms between two looks at whether the run has ended
constexpr int kSoon = 20;                       // ms, the same while later operations are awaited
constexpr int64_t kMostAhead = 1'000'000'000;   // ns before its first operation is due at which a window is passed on, at most
constexpr int64_t kMostWindow = 250'000'000;    // recorded ns of a window, about
constexpr int64_t kMostTravel = 1'000'000'000;  // ns from an operation's end to its arrival here, at most as a rule

// True: the operation may show that a name or an object exists which an operation in flight has made.
bool shows_names(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return false;
  return op.kind == OpKind::readdir || op.kind == OpKind::readdirplus || (op.object && !op.handle) || op.kind == OpKind::open ||
         op.kind == OpKind::opendir || op.kind == OpKind::create;
}

// True: the operation changes nothing, and no other one needs it.
bool only_looks(OpKind kind) {
  switch (kind) {
    case OpKind::getattr:
    case OpKind::statx:
    case OpKind::access:
    case OpKind::readlink:
    case OpKind::read:
    case OpKind::lseek:
    case OpKind::readdir:
    case OpKind::readdirplus:
    case OpKind::statfs:
    case OpKind::getxattr:
    case OpKind::listxattr:
    case OpKind::getlk:
      return true;
    default:
      return false;
  }
}

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

LiveSource::LiveSource(StreamReader& reader, LiveImage& image, Clock& clock, const LiveOptions& options,
                       std::optional<int64_t> epoch, MissingWatch* watch, const std::atomic<int>* stop)
    : queue_(reader),
      image_(image),
      clock_(clock),
      options_(options),
      window_length_(std::min(kMostWindow, options.lag / 8)),
      window_ops_(std::max(kLeastWindowOps, kWindowOps / options.clones)),
      epoch_(epoch),
      watch_(watch),
      stop_(stop),
      lag_(clock, options.lag) {}

bool LiveSource::over() const {
  return (stop_ && stop_->load(std::memory_order_relaxed)) || (run_ended_ && run_ended_->load(std::memory_order_relaxed)) ||
         gave_up_.load(std::memory_order_relaxed) != 0;
}

int64_t LiveSource::first_start() {
  while (!read_window() && !stream_ended_ && !over()) {
  }
  if (window_.ops.empty()) return INT64_MAX;
  first_ = window_.ops.front().start;
  began_ = clock_.now();
  if (epoch_) began_ = std::min(began_, *epoch_ + first_);
  return first_;
}

// Waits for operations for `ms` at most. False: none came.
bool LiveSource::gather(int ms) {
  OpBatch came;
  const StreamReader::Wait wait = queue_.next_within(came, ms);
  stream_ended_ = wait == StreamReader::Wait::end;
  if (wait != StreamReader::Wait::came) return false;
  for (const Op& op : came.ops) gathered_.ops.push_back(copy_op(op, gathered_.arena));
  come_ = clock_.now();
  return true;
}

// Gathers the operations of a window. False: none came.
bool LiveSource::read_window() {
  auto complete = [this] {
    const auto& ops = gathered_.ops;
    return ops.size() >= window_ops_ || (!ops.empty() && ops.back().start - ops.front().start >= 2 * window_length_);
  };
  while (!stream_ended_ && !complete() && gather(gathered_.ops.empty() ? kLook : int(window_length_ / 2'000'000))) {
  }
  if (gathered_.ops.empty()) return false;
  const size_t end = complete() ? window_end(gathered_.ops, window_length_) : gathered_.ops.size();
  OpBatch rest;
  for (size_t i = end; i < gathered_.ops.size(); ++i) rest.ops.push_back(copy_op(gathered_.ops[i], rest.arena));
  gathered_.ops.resize(end);
  window_ = std::move(gathered_);
  gathered_ = std::move(rest);
  return true;
}

// Returns the operations behind the window that started before the operations of the window have shown names and objects. Waits
// for them, until `until` at most (clock, ns).
std::span<const Op> LiveSource::later(int64_t until) {
  int64_t shown = INT64_MIN;
  for (const Op& op : window_.ops)
    if (shows_names(op)) shown = std::max(shown, op.end());
  const auto& ops = gathered_.ops;
  auto known = [&] { return !ops.empty() && ops.back().start >= shown; };
  while (!stream_ended_ && !over() && !known() && ops.size() < kMostLater) {
    const bool in_time = clock_.now() < until;
    if (!gather(in_time ? kSoon : 0) && !in_time) break;  // takes what has come in any case
  }
  if (!known() && ops.size() >= kMostLater) {
    const std::lock_guard lock(mutex_);
    ++status_.cut;
  }
  return std::span(ops).first(size_t(std::ranges::lower_bound(ops, shown, {}, &Op::start) - ops.begin()));
}

// Makes of each operation one for each clone.
void LiveSource::clone(OpBatch& window) const {
  if (options_.clones == 1) return;
  const std::vector<Op> ops = std::exchange(window.ops, {});
  add_clones(ops, {.all = options_.clones}, window);
}

// Tells the planner that all operations before `start` have ended.
bool LiveSource::fill(OpBatch& batch, int64_t start) {
  if (std::exchange(told_, true)) return false;
  Op& op = batch.ops.emplace_back();
  op.kind = OpKind::lookup;
  op.seq = kFirstAddedLookup + fillers_++;
  op.start = start;
  lag_.passes_on(1);
  return true;
}

// Ends the run if the lag is too great for it.
void LiveSource::judge(int64_t lag) {
  int64_t never = 0;
  if (options_.when_behind == WhenBehind::stop && lag > options_.lag_max) gave_up_.compare_exchange_strong(never, lag);
}

// Leaves out what changes nothing, from when the lag is too great until half of the excess is made up for.
void LiveSource::leave_out(int64_t lag) {
  if (options_.when_behind != WhenBehind::skip_reads) return;
  leaves_out_ = lag > options_.lag_max || (leaves_out_ && lag > (options_.lag + options_.lag_max) / 2);
  if (!leaves_out_) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(window_.ops, [this](const Op& op) {
    if (!only_looks(op.kind)) return false;
    ++status_.left_out[unsigned(op.kind)];
    return true;
  });
}

bool LiveSource::next(OpBatch& batch) {
  do {
    batch.clear();
    while (window_.ops.empty() && !read_window()) {
      if (stream_ended_ || over()) return false;
      if (clock_.now() - come_ > std::min(kMostTravel, options_.lag / 2) && fill(batch, last_end_)) return true;
    }
    const int64_t start = window_.ops.front().start;
    const int64_t due = began_ + options_.lag + (start - first_);
    const int64_t ahead = std::min(kMostAhead, options_.lag / 2);
    if (clock_.now() < due - ahead && fill(batch, std::min(start, last_end_))) return true;
    lag_.comes(due);
    while (clock_.now() < due - ahead) {
      if (over()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(kLook));
    }
    if (watch_) image_.forget(watch_->take());
    const std::span<const Op> behind = later(due - ahead / 2);
    OpBatch others{.ops = {behind.begin(), behind.end()}, .arena = {}};
    clone(others);
    clone(window_);
    image_.prepare(window_.ops, others.ops);
    const int64_t lag = lag_.ready();
    judge(lag);
    if (over()) return false;
    for (const Op& op : window_.ops) last_end_ = std::max(last_end_, op.has(kOpUnfinished) ? op.start : op.end());
    const size_t came = window_.ops.size();
    leave_out(lag);
    told_ = window_.ops.empty() && told_;
    std::swap(batch, window_);
    window_.clear();
    lag_.passes_on(batch.ops.size());
    for (const Op& op : batch.ops) last_start_ = std::max(last_start_, op.start);
    const std::lock_guard lock(mutex_);
    status_.operations += came;
    status_.files = image_.counts();
  } while (batch.ops.empty());
  return true;
}

bool LiveSource::look(const Progress& progress) {
  lag_.look(progress);
  judge(lag_.now());
  return gave_up_.load() == 0;
}

LiveStatus LiveSource::status() const {
  const std::lock_guard lock(mutex_);
  LiveStatus status = status_;
  status.lag_now = lag_.now();
  status.lag = lag_.seen();
  status.gave_up = gave_up_.load();
  return status;
}

}  // namespace fsr
