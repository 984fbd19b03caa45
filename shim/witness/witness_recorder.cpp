// SPDX-License-Identifier: Apache-2.0
#include "witness_recorder.hpp"

#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include "util/clock_ns.hpp"

namespace fsr::shim {

using namespace std::chrono_literals;

namespace {

constexpr auto kLookPause = 20ms;        // between two looks at the ring; each costs as much as several operations
constexpr auto kShortPause = 5ms;        // the same for a ring of less than kLargeRing, which would be full before
constexpr size_t kLargeRing = 1 << 20;   // bytes
constexpr size_t kChunkBytes = 1 << 20;  // larger than any record
constexpr size_t kMostSpare = 32;        // chunks; kWindow of 200,000 records a second
constexpr size_t kAskFull = 1000;        // operations after which the sink is asked whether it is full

size_t bytes_of(const witness_record& r) {
  switch (r.layout) {
    case kWitnessShort:
      return sizeof r + kWitnessShortName;
    case kWitnessNames:
      return sizeof r + size_t(2) * kWitnessName;
    case kWitnessText:
      return sizeof r + kWitnessName + kWitnessPath;
    case kWitnessValue:
      return sizeof r + size_t(2) * kWitnessName + kWitnessPath;
    default:
      return sizeof r;
  }
}

}  // namespace

WitnessRecorder::WitnessRecorder(OpSink& sink, const WitnessScope& scope, size_t ring_bytes, int64_t epoch)
    : sink_(sink),
      epoch_(epoch),
      pause_(ring_bytes < kLargeRing ? kShortPause : kLookPause),
      hooks_(scope, ring_bytes, [this](const witness_record& r) { keep(r); }) {}

WitnessRecorder::~WitnessRecorder() { stop("ended"); }

int64_t WitnessRecorder::now() const { return clock_ns(CLOCK_MONOTONIC) - epoch_; }

uint64_t WitnessRecorder::lost() const {
  const auto losses = hooks_.losses();
  return std::accumulate(losses.begin(), losses.end(), unwritten_.load());
}

void WitnessRecorder::start(const std::function<void()>& look) {
  hooks_.attach(look);
  ops_ = std::make_unique<WitnessOps>(hooks_.root(), epoch_);
  thread_ = std::thread([this] { run(); });
}

void WitnessRecorder::put(const witness_record& r, WitnessOps::Handles handles) {
  const size_t bytes = bytes_of(r);
  if (!chunk_ || kChunkBytes - chunk_->used < bytes) chunk_ = &new_chunk();
  std::byte* const copy = chunk_->bytes.get() + chunk_->used;
  memcpy(copy, &r, bytes);
  chunk_->used += (bytes + 7) / 8 * 8;
  ++chunk_->records;
  came_ = std::max(came_, int64_t(r.end));
  waiting_.push({int64_t(r.start), arrived_++, reinterpret_cast<const witness_record*>(copy), chunk_, handles});
}

void WitnessRecorder::keep(const witness_record& r) {
  WitnessOps::Handles handles;
  if (!ops_->arrived(r, &handles)) return;
  if (r.marks & kWitnessUnended) return unended_.push_back({r, handles});
  // The call ended while the hooks were detached.
  if (!unended_.empty())
    std::erase_if(unended_, [&](const Unended& u) { return u.record.tid == r.tid && u.record.start == r.start; });
  put(r, handles);
}

WitnessRecorder::Chunk& WitnessRecorder::new_chunk() {
  Chunk& chunk = chunks_.emplace_back();
  if (spare_.empty()) {
    chunk.bytes = std::make_unique_for_overwrite<std::byte[]>(kChunkBytes);
  } else {
    chunk.bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  return chunk;
}

void WitnessRecorder::write_before(int64_t bound) {
  for (size_t n = 1; !waiting_.empty(); ++n) {
    const Waiting& next = waiting_.first();
    if (next.start >= bound) break;
    if (n % kAskFull == 0 && sink_.full()) return;
    if (next.start < written_) ++late_;
    written_ = std::max(written_, next.start);
    ops_->add(*next.record, next.handles, written_, sink_);
    --next.chunk->records;
    waiting_.pop();
  }
  for (; chunks_.size() > 1 && chunks_.front().records == 0; chunks_.pop_front())
    if (spare_.size() < kMostSpare) spare_.push_back(std::move(chunks_.front().bytes));
}

RecorderState WitnessRecorder::state() {
  RecorderState state{.dropped = lost()};
  if (state.dropped != std::exchange(dropped_, state.dropped)) state.first_dropped = drained_ - epoch_;
  return state;
}

// Writes the operations that wait to be put in order. The hooks are detached.
void WitnessRecorder::write_rest() {
  while (hooks_.drain()) continue;
  for (const Unended& u : unended_) put(u.record, u.handles);
  unended_.clear();
  write_before(INT64_MAX);
}

void WitnessRecorder::write_all() {
  drained_ = epoch_;
  while (!stop_.load()) {
    const int64_t begun = clock_ns(CLOCK_MONOTONIC);
    const bool more = hooks_.drain();
    // Records that are still in the ring ended after those that came.
    const int64_t bound = (more ? came_ : begun) - kWindow;
    write_before(bound);
    ops_->forget_ended(bound);
    const SinkState told = sink_.tick(now(), state());
    drained_ = begun;
    if (!told.end.empty()) return end_.end(told);
    if (!more) std::this_thread::sleep_for(pause_);
  }
}

void WitnessRecorder::run() {
  bool clean = true;
  try {
    write_all();
    detach();  // what follows a limit's end is neither recorded nor lost, and costs the applications nothing
    if (!sink_.full()) write_rest();
    if (const SinkState told = sink_.tick(length(), state()); !told.end.empty()) end_.end(told);
  } catch (const std::exception& e) {
    clean = false;
    unwritten_ = waiting_.size();
    end_.end({e.what(), true});
  }
  detach();
  recording_ = false;
  end_.finish(sink_, clean, length(), state());
}

int64_t WitnessRecorder::length() const { return std::max(ended_, came_ - epoch_); }

void WitnessRecorder::detach() {
  std::call_once(detached_, [this] {
    ended_ = now();
    hooks_.tell_unended();
    hooks_.detach();
  });
}

void WitnessRecorder::stop(const std::string& reason) {
  if (!thread_.joinable()) return;
  detach();
  end_.request(reason);
  stop_ = true;
  thread_.join();
}

}  // namespace fsr::shim
