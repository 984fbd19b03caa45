// SPDX-License-Identifier: Apache-2.0
#include "witness_recorder.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include "util/clock_ns.hpp"

namespace fsr::shim {

using namespace std::chrono_literals;

namespace {

constexpr auto kPause = 2ms;             // between two looks at the ring
constexpr size_t kChunkBytes = 1 << 20;  // larger than any record
constexpr size_t kAskFull = 1000;        // operations after which the sink is asked whether it is full

size_t bytes_of(const witness_record& r) {
  switch (r.layout) {
    case kWitnessShort:
      return sizeof r + kWitnessShortName;
    case kWitnessNames:
      return sizeof r + size_t(2) * kWitnessName;
    case kWitnessText:
      return sizeof r + kWitnessName + kWitnessPath;
    default:
      return sizeof r;
  }
}

}  // namespace

WitnessRecorder::WitnessRecorder(OpSink& sink, pid_t command, size_t ring_bytes, int64_t epoch)
    : sink_(sink), epoch_(epoch), hooks_(command, ring_bytes, [this](const witness_record& r) { keep(r); }) {}

WitnessRecorder::~WitnessRecorder() { stop("ended"); }

int64_t WitnessRecorder::now() const { return clock_ns(CLOCK_MONOTONIC) - epoch_; }

void WitnessRecorder::start(const std::function<void()>& look) {
  hooks_.attach(look);
  ops_ = std::make_unique<WitnessOps>(hooks_.root(), epoch_);
  thread_ = std::thread([this] { run(); });
}

void WitnessRecorder::keep(const witness_record& r) {
  WitnessOps::Handles handles;
  if (!ops_->arrived(r, &handles)) return;
  const size_t bytes = (bytes_of(r) + 7) / 8 * 8;
  if (chunks_.empty() || chunks_.back().bytes.size() + bytes > chunks_.back().bytes.capacity())
    chunks_.emplace_back().bytes.reserve(kChunkBytes);
  Chunk& chunk = chunks_.back();
  const size_t at = chunk.bytes.size();
  chunk.bytes.resize(at + bytes);
  memcpy(chunk.bytes.data() + at, &r, bytes_of(r));
  ++chunk.records;
  waiting_.push(
      {int64_t(r.start), arrived_++, reinterpret_cast<const witness_record*>(chunk.bytes.data() + at), handles, &chunk});
}

void WitnessRecorder::write_before(int64_t bound) {
  for (size_t n = 1; !waiting_.empty() && waiting_.top().start < bound; ++n) {
    if (n % kAskFull == 0 && sink_.full()) return;
    const Waiting next = waiting_.top();
    waiting_.pop();
    if (next.start < written_) ++late_;
    written_ = std::max(written_, next.start);
    ops_->add(*next.record, next.handles, written_, sink_);
    --next.chunk->records;
  }
  while (chunks_.size() > 1 && chunks_.front().records == 0) chunks_.pop_front();
}

RecorderState WitnessRecorder::state() {
  RecorderState state{.dropped = hooks_.counters().lost};
  if (state.dropped != std::exchange(dropped_, state.dropped)) state.first_dropped = drained_ - epoch_;
  return state;
}

void WitnessRecorder::end_for(const std::string& reason, bool failed) {
  std::lock_guard lock(mutex_);
  reason_ = reason;
  if (failed) failure_ = reason;
}

void WitnessRecorder::write_all() {
  for (bool stopping = false; !stopping;) {
    stopping = stop_.load();
    const int64_t begun = clock_ns(CLOCK_MONOTONIC);
    hooks_.drain();
    write_before(stopping ? INT64_MAX : begun - kWindow);
    const SinkState told = sink_.tick(begun - epoch_, state());
    drained_ = begun;
    if (!told.end.empty()) return end_for(told.end, told.failed);
    if (!stopping) std::this_thread::sleep_for(kPause);
  }
}

void WitnessRecorder::run() {
  bool clean = true;
  try {
    write_all();
    detach();             // what follows a limit's end is neither recorded nor lost, and costs the applications nothing
    if (!sink_.full()) {  // the operations that waited to be put in order
      hooks_.drain();
      write_before(INT64_MAX);
    }
  } catch (const std::exception& e) {
    clean = false;
    end_for(e.what(), true);
  }
  detach();
  recording_ = false;
  try {
    sink_.finish(clean, reason(), now(), state());
  } catch (const std::exception& e) {
    std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = e.what();
  }
}

void WitnessRecorder::detach() {
  std::call_once(detached_, [this] { hooks_.detach(); });
}

void WitnessRecorder::stop(const std::string& reason) {
  if (!thread_.joinable()) return;
  detach();
  {
    std::lock_guard lock(mutex_);
    if (reason_.empty()) reason_ = reason;
  }
  stop_ = true;
  thread_.join();
}

std::string WitnessRecorder::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

std::string WitnessRecorder::reason() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

}  // namespace fsr::shim
