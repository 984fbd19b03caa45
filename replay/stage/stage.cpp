// SPDX-License-Identifier: Apache-2.0
#include "stage/stage.hpp"

#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "engine/recording.hpp"
#include "stage/play_state.hpp"
#include "stage/seat.hpp"
#include "stage/stage_worker.hpp"
#include "targets/pool.hpp"

namespace fsr {

constexpr unsigned kPoolThreads = 32;
constexpr int64_t kLook = 50'000'000;  // ns between looks at `stop`
// ns without a completion after which players that were told to end are left alone: by `stop`, and because the time was over.
constexpr int64_t kGrace = 1'500'000'000, kGraceOver = 10'000'000'000;
constexpr auto kHandOver = std::chrono::microseconds(100);

namespace {

// Gives the calling thread a table of descriptors of its own, with the standard streams and this one. Before Linux 5.9 it goes on
// sharing the process's.
void keep_only(int descriptor) {
  if (close_range(unsigned(descriptor) + 1, UINT_MAX, CLOSE_RANGE_UNSHARE) != 0) return;
  if (descriptor > 3) close_range(3, unsigned(descriptor) - 1, 0);
}

}  // namespace

// One play, from the caller's thread.
class Stage::Performance {
 public:
  Performance(Stage& stage, const std::vector<Part>& parts, const PlayOptions& options);
  Played run();

 private:
  int64_t now() { return stage_.clock_.now(); }
  template <class Act>
  void each_worker(Act act) {
    for (StageWorker* worker : workers_) act(*worker);
  }
  void run_inline();
  void run_alone(StageWorker& worker);
  void run_threads();
  void conduct();
  void perform(StageWorker& worker);
  int64_t next_event() const;
  void look();
  bool in_vain(int64_t t, int64_t grace);
  void collect(bool last);

  Stage& stage_;
  const PlayOptions& options_;
  PlayState play_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<StageWorker*> workers_;  // on which players are, or may come to be
  Played played_;
  unsigned interval_ = 0;      // told
  int64_t interval_from_ = 0;  // clock
  bool warm_ = true;
  uint64_t completions_ = 0;
  int64_t progress_at_ = 0;  // clock: when that was last seen to grow, since players were told to end
  int64_t in_vain_at_ = INT64_MAX;
  unsigned stuck_ = 0;  // looks at which all players waited for each other

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  unsigned running_ = 0;
};

Stage::Performance::Performance(Stage& stage, const std::vector<Part>& parts, const PlayOptions& options)
    : stage_(stage), options_(options), play_{stage.clock_, stage.places_, *stage.pool_, stage.next_id_} {
  play_.record = options.record;
  play_.heartbeat = options.heartbeat;
  play_.playing = unsigned(parts.size());
  std::map<unsigned, unsigned> order;  // of groups, by their first part: they are dealt to a place's workers in turn
  for (const Part& part : parts) {
    auto& workers = stage.places_.at(part.place);
    const unsigned turn = order.try_emplace(part.group, unsigned(order.size())).first->second;
    seats_.push_back(std::make_unique<Seat>(play_, *workers[turn % workers.size()], unsigned(seats_.size())));
    Seat& seat = *seats_.back();
    seat.request_.alone = parts.size() == 1;
    seat.actor_ = part.player->play(seat);
    seat.waiting_ = seat.actor_.begin(play_);
  }
  if (seats_.size() == 1 && stage.places_.size() == 1) {
    workers_ = {seats_[0]->worker_};
    return;
  }
  for (auto& place : stage.places_)
    for (auto& worker : place) workers_.push_back(worker.get());
}

int64_t Stage::Performance::next_event() const {
  int64_t next = play_.ended.load() ? INT64_MAX : play_.end;
  if (!warm_) next = std::min(next, play_.start + options_.warmup);
  if (options_.interval) next = std::min(next, interval_from_ + options_.interval);
  if (!play_.abandoned.load()) next = std::min(next, in_vain_at_);
  return next;
}

// Nothing has been completed for a while.
bool Stage::Performance::in_vain(int64_t t, int64_t grace) {
  uint64_t completions = 0;
  each_worker([&](StageWorker& worker) { completions += worker.completions(); });
  if (completions != std::exchange(completions_, completions) || progress_at_ == 0) progress_at_ = t;
  in_vain_at_ = progress_at_ + grace;
  return t >= in_vain_at_;
}

// What is due for the play as a whole.
void Stage::Performance::look() {
  const int64_t t = now();
  if (!warm_ && t >= play_.start + options_.warmup) collect(false);
  if (options_.interval && t >= interval_from_ + options_.interval) collect(false);
  const int stop = options_.stop ? options_.stop->load(std::memory_order_relaxed) : 0;
  if (stop != 0) played_.stopped = true;
  const bool over = t >= play_.end || (options_.over && options_.over->load(std::memory_order_relaxed));
  if (!play_.ended.load() && (stop != 0 || over)) play_.tell_end();
  const bool told = stop != 0 || over;
  if ((stop >= 2 || (told && in_vain(t, stop != 0 ? kGrace : kGraceOver))) && !play_.abandoned.exchange(true))
    each_worker([](StageWorker& worker) { worker.wake(); });
  const unsigned playing = play_.playing.load();
  stuck_ = playing != 0 && play_.at_barriers.load() == playing ? stuck_ + 1 : 0;
  if (stuck_ >= 2) {
    play_.failure = std::make_exception_ptr(std::logic_error("players wait at a barrier that not all parties can reach"));
    play_.tell_end();
  }
}

// Takes over what was counted since the last time.
void Stage::Performance::collect(bool last) {
  Tally counts;
  if (last) {
    each_worker([&](StageWorker& worker) {
      counts.merge(worker.taken());
      counts.merge(worker.take_rest());
    });
  } else {
    each_worker([](StageWorker& worker) { worker.hand_over(); });
    each_worker([&](StageWorker& worker) {
      if (stage_.inline_) worker.step();
      while (!worker.handed_over() && play_.playing.load() != 0 && !play_.abandoned.load())
        std::this_thread::sleep_for(kHandOver);
      counts.merge(worker.taken());
    });
  }
  const int64_t t = now();
  if (!warm_) {
    warm_ = true;
    played_.started = interval_from_ = t;
    if (!last) return;
    counts = {};
  }
  // An interval ends where it should, however late it is told.
  const int64_t to = last ? t : interval_from_ + options_.interval;
  if (options_.interval && options_.on_interval)
    options_.on_interval({++interval_, interval_from_ - play_.start, to - play_.start, counts, last});
  interval_from_ = to;
  played_.counts.merge(counts);
}

void Stage::Performance::perform(StageWorker& worker) {
  while (play_.playing.load(std::memory_order_relaxed) != 0 && !play_.abandoned.load(std::memory_order_relaxed))
    if (!worker.step()) worker.rest(INT64_MAX);
}

void Stage::Performance::run_inline() {
  while (play_.playing.load() != 0 && !play_.abandoned.load()) {
    look();
    if (play_.abandoned.load()) return;
    bool busy = false;
    int64_t next = next_event();
    each_worker([&](StageWorker& worker) {
      busy |= worker.step();
      next = std::min(next, worker.next_due());
    });
    if (busy) continue;
    StageWorker* waits = nullptr;
    each_worker([&](StageWorker& worker) {
      if (!waits || worker.in_flight()) waits = &worker;
    });
    waits->rest(next);
  }
}

// Until all workers have ended.
void Stage::Performance::conduct() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const int64_t pause = std::clamp<int64_t>(next_event() - now(), 0, kLook);
    if (changed_.wait_for(lock, std::chrono::nanoseconds(pause), [this] { return running_ == 0; })) break;
    lock.unlock();
    look();
    lock.lock();
  }
}

// A single worker plays on the caller's thread and has the table of descriptors to itself: Linux charges every call on a
// descriptor for a table that threads share, a tenth of a cached read of a byte. The other thread keeps none of them: what the
// player closes is closed. It gets the signals, for they would interrupt requests, but for those of a thread's own faults.
void Stage::Performance::run_alone(StageWorker& worker) {
  running_ = 1;
  std::thread conductor([this, wake = worker.wake_descriptor()] {
    keep_only(wake);
    conduct();
  });
  sigset_t most, before;
  sigfillset(&most);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&most, fault);
  pthread_sigmask(SIG_SETMASK, &most, &before);
  prctl(PR_SET_TIMERSLACK, 1);
  perform(worker);
  prctl(PR_SET_TIMERSLACK, 0);  // as it was
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  {
    std::lock_guard lock(mutex_);
    running_ = 0;
    changed_.notify_all();
  }
  conductor.join();
}

void Stage::Performance::run_threads() {
  std::vector<std::thread> threads;
  each_worker([&](StageWorker& worker) {
    ++running_;
    threads.emplace_back([this, &worker] {
      prctl(PR_SET_TIMERSLACK, 1);  // the default lets the kernel wake us 50 us late
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return started_; });
      }
      perform(worker);
      std::lock_guard lock(mutex_);
      --running_;
      changed_.notify_all();
    });
  });
  {
    std::lock_guard lock(mutex_);
    started_ = true;
    changed_.notify_all();
  }
  conduct();
  for (std::thread& thread : threads) thread.join();
}

Played Stage::Performance::run() {
  each_worker([&](StageWorker& worker) { worker.begin(play_); });
  for (auto& seat : seats_) seat->worker_->post(*seat);
  play_.start = interval_from_ = played_.started = now();
  if (options_.duration) play_.end = play_.start + options_.duration;
  warm_ = options_.warmup == 0;
  if (options_.record) options_.record->set_origin(play_.start);
  if (stage_.inline_)
    run_inline();
  else if (workers_.size() == 1 && !options_.on_interval)
    run_alone(*workers_[0]);
  else
    run_threads();
  collect(true);
  played_.ended = now();
  played_.abandoned = play_.playing.load();
  if (played_.abandoned) {
    for (const auto& seat : seats_)
      if (seat->in_flight())
        played_.unfinished.push_back({seat->row_, played_.ended - (seat->due_ ? seat->due_ : seat->issued_)});
    each_worker([](StageWorker& worker) { worker.abandon(); });
  }
  if (play_.failure) std::rethrow_exception(play_.failure);
  return std::move(played_);
}

Stage::Stage(Clock& clock, bool inline_workers) : clock_(clock), inline_(inline_workers), pool_(new Pool(kPoolThreads)) {}

// Jobs end before the workers that they wake go.
Stage::~Stage() { pool_.reset(); }

unsigned Stage::add(Target& target, unsigned workers) {
  if (inline_) workers = 1;
  if (workers == 0) workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::unique_ptr<StageWorker>> place;
  for (unsigned i = 0; i < workers; ++i) place.push_back(std::make_unique<StageWorker>(target, clock_, inline_));
  places_.push_back(std::move(place));
  return unsigned(places_.size()) - 1;
}

Played Stage::play(const std::vector<Part>& parts, const PlayOptions& options) {
  return Performance(*this, parts, options).run();
}

}  // namespace fsr
