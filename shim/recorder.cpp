// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"
#include "util/clock_ns.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

namespace fsr::shim {

using namespace std::chrono_literals;

namespace {

constexpr size_t kWakeBytes = 1 << 20;   // in one ring, that are worth a wake-up
constexpr auto kLastWait = 1s;           // of a request for a writer that is to end, and may be held up by a dead disk
constexpr size_t kGrowBytes = 16 << 20;  // at a time: to make that much memory takes the writer some milliseconds

}  // namespace

Recorder::Recorder(OpSink& sink, const RingSize& rings, int64_t epoch, Overflow overflow)
    : sink_(sink),
      size_(rings),
      pool_(rings.chunk, rings.start),
      epoch_(epoch),
      overflow_(overflow),
      merger_(sink, pool_),
      writer_([this] { run(); }) {}

Recorder::~Recorder() { stop("ended"); }

int64_t Recorder::now() const { return clock_ns(CLOCK_MONOTONIC) - epoch_; }

Ring* Recorder::borrow() {
  std::lock_guard lock(mutex_);
  try {
    if (free_.empty()) {
      rings_.push_back(std::make_unique<Ring>(pool_));
      free_.push_back(rings_.back().get());
    }
    Ring* ring = free_.back();
    if (!ring->merged) unmerged_.push_back(ring);
    free_.pop_back();
    ring->lent = ring->merged = true;
    return ring;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void Recorder::give_back(Ring* ring) {
  if (!ring) return;
  std::lock_guard lock(mutex_);
  ring->lent = false;
  free_.push_back(ring);
}

size_t Recorder::merged_rings() const {
  std::lock_guard lock(mutex_);
  return merged_;
}

// The merger looks at each of its rings for each operation, so it gets only those in use.
void Recorder::update_rings() {
  std::lock_guard lock(mutex_);
  merger_.remove_rings([](const Ring& ring) { return !ring.lent; },
                       [this](Ring& ring) {
                         ring.merged = false;
                         --merged_;
                       });
  for (Ring* ring : unmerged_) merger_.add_ring(*ring);
  merged_ += unmerged_.size();
  unmerged_.clear();
}

// Sets the time before the count, so that each drop that the writer sees has a time.
void Recorder::note_dropped(int64_t start) {
  for (int64_t first = first_dropped_.load(); start < first && !first_dropped_.compare_exchange_weak(first, start);) continue;
  dropped_.fetch_add(1);
}

RecorderState Recorder::state() {
  const uint64_t dropped = dropped_.load();
  return {dropped, waited(), ring_time(), first_dropped_.exchange(INT64_MAX)};
}

bool Recorder::begin(Ring* ring, Op& op) {
  bool room = recording() && ring && make_room(*ring, Ring::need(op));
  if (!room) {
    if (recording())
      note_dropped(now());
    else
      unrecorded_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  ring->enter();
  op.start = now();
  ring->start(op);
  return true;
}

void Recorder::end(Ring& ring, Op& op) {
  op.duration = now() - op.start;
  if (!make_room(ring, Ring::need(op))) {
    const bool at_limit = !recording() && !stop_.load(std::memory_order_relaxed) && failure().empty();
    if (at_limit)
      unrecorded_.fetch_add(1, std::memory_order_relaxed);
    else
      note_dropped(op.start);
    ring.abandon();
    return;
  }
  ring.finish(op);
  // Asked in this order: while the writer is awake, what it counts is in its processor's cache.
  if (sleeping_.load(std::memory_order_relaxed) && (ring.fill() > kWakeBytes || pool_.low())) wake_.notify_one();
}

bool Recorder::add(Ring* ring, Op& op) {
  if (!recording()) {
    unrecorded_.fetch_add(1, std::memory_order_relaxed);
  } else if (!ring || !make_room(*ring, Ring::need(op))) {
    note_dropped(op.start);
  } else {
    ring->enter();  // before the question: the writer either sees the announcement, or has passed already
    if (op.start < passed_.load(std::memory_order_seq_cst)) {
      ring->leave();
      return false;
    }
    ring->start(op);
    ring->finish(op);
  }
  return true;
}

bool Recorder::make_room(Ring& ring, size_t bytes) {
  if (ring.room(bytes)) return true;
  if (overflow_ == Overflow::drop || bytes > ring.largest()) {
    wake_.notify_one();
    return false;
  }
  waited_.fetch_add(1, std::memory_order_relaxed);
  for (auto last = std::chrono::microseconds(kLastWait); !ring.room(bytes);) {
    if (!recording_.load(std::memory_order_relaxed)) return false;
    if (stop_.load(std::memory_order_relaxed) && (last -= 100us) < 0us) return false;
    wake_.notify_one();
    std::this_thread::sleep_for(100us);
  }
  return true;
}

double Recorder::ring_fill() const { return 1 - double(pool_.free_bytes()) / double(pool_.capacity()); }

int64_t Recorder::ring_time() const {
  const uint64_t load = ring_load();
  return load == 0 ? -1 : int64_t(std::min(double(pool_.capacity()) / double(load) * 1e9, 9e18));
}

void Recorder::follow_load(int64_t now) {
  if (const int64_t span = now - measured_at_; span >= kRateWindow) {
    uint64_t total = 0;
    {
      std::lock_guard lock(mutex_);
      for (const auto& ring : rings_) total += ring->total();
    }
    const auto load = uint64_t(double(total - total_then_) * 1e9 / double(span));
    if (load > ring_load()) load_.store(load, std::memory_order_relaxed);
    measured_at_ = now;
    total_then_ = total;
  }
  const double wanted = std::min(double(ring_load()) * double(size_.time) / 1e9, double(size_.limit));
  pool_.grow(std::min(size_t(wanted), pool_.capacity() + kGrowBytes));
}

void Recorder::write_all() {
  for (;;) {
    bool stopping = stop_.load(std::memory_order_acquire);
    int64_t t = now();
    update_rings();
    const int64_t held = hold_.load(std::memory_order_relaxed);
    const int64_t until = held < t && t - held < kMostHeld ? held : t;
    passed_.store(std::max(until, passed_.load(std::memory_order_relaxed)), std::memory_order_seq_cst);
    merger_.round(until);
    follow_load(t);
    // The round may have waited for the disk, or for the reader of a pipe.
    SinkState state = sink_.tick(now(), this->state());
    if (!state.end.empty()) return end_.end(state);
    if (stopping) return;
    // A batch gathers meanwhile: a wake-up costs more than writing an operation. A ring that fills ends the wait.
    std::unique_lock lock(mutex_);
    sleeping_.store(true, std::memory_order_relaxed);
    wake_.wait_for(lock, 10ms);
    sleeping_.store(false, std::memory_order_relaxed);
  }
}

void Recorder::run() {
  // SCHED_BATCH: when the writer wakes up, it does not preempt a worker or an application in the middle of a request.
  sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
  bool clean = true;
  try {
    write_all();
    recording_.store(false, std::memory_order_relaxed);
    update_rings();
    // Requests that are being answered at this moment belong to the trace; a request that blocks is not waited for.
    for (int i = 0; i < 50 && merger_.any_open(); ++i) {
      merger_.round(now());
      std::this_thread::sleep_for(2ms);
    }
    merger_.finish();
    if (merger_.full()) end_.end(sink_.tick(now(), this->state()));
  } catch (const std::exception& e) {
    clean = false;
    end_.end({e.what(), true});
  }
  recording_.store(false, std::memory_order_relaxed);
  if (!clean) dropped_.fetch_add(merger_.discard(), std::memory_order_relaxed);
  if (merger_.full()) unrecorded_.fetch_add(merger_.discard(), std::memory_order_relaxed);
  end_.finish(sink_, clean, now(), state());
}

void Recorder::stop(const std::string& reason) {
  end_.request(reason);
  stop_.store(true, std::memory_order_release);
  wake_.notify_one();
  if (writer_.joinable()) writer_.join();
}

}  // namespace fsr::shim
