// SPDX-License-Identifier: Apache-2.0
// One thread of a stage: resumes the players whose turn it is, and completes their operations on its session.
//
// step(), rest() and the seats' awaiting by the worker's own thread; post(), wake() and hand_over() by any.
#pragma once

#include <atomic>
#include <coroutine>
#include <deque>
#include <memory>
#include <mutex>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytewise.hpp"
#include "base/target.hpp"
#include "engine/rest.hpp"
#include "measure/tally.hpp"
#include "stage/load.hpp"

namespace fsr {

class Clock;
class Seat;
struct PlayState;

class StageWorker final : public Completion {
 public:
  // Throws what open_session() throws.
  StageWorker(Target& target, Clock& clock, bool inline_worker);

  void begin(PlayState& play);
  // Seats that begin here, before the play or from another worker: their turn comes.
  void post(Seat& seat);
  void wake() { rest_.wake(); }
  int wake_descriptor() const { return rest_.wake_descriptor(); }  // all that wake() needs of the caller's
  // Resumes players and looks for completions, without waiting. False: there was nothing to do.
  bool step();
  // Waits until there is something to do, or until `deadline`.
  void rest(int64_t deadline);
  int64_t next_due() const;  // INT64_MAX: no player sleeps
  bool in_flight() const { return in_flight_ != 0; }
  int64_t latest() const { return latest_; }  // the clock as it was last looked at, for the worker's own thread
  uint64_t completions() const { return completions_.load(std::memory_order_relaxed); }

  // The worker puts what it counted so far where taken() finds it, soon. The worker's thread may be resting.
  void hand_over();
  bool handed_over() const { return !wanted_.load(std::memory_order_acquire); }
  Tally taken();
  // When the worker's thread has ended: what it counted since, and an end to what is under way.
  Tally take_rest() { return std::exchange(tally_, {}); }
  void abandon() { session_.reset(); }

  Target& target() const { return target_; }
  PlayState& play() const { return *play_; }

 private:
  friend class Seat;
  struct Sleeper {
    int64_t due;
    uint64_t order;
    Seat* seat;
    bool operator>(const Sleeper& other) const { return std::tie(due, order) > std::tie(other.due, other.order); }
  };

  void completed(Request& request) override;
  bool submit(Seat& seat);  // true: completed
  uint64_t perform_bytes(const Request& request);
  void account(Seat& seat);
  void resume(Seat& seat);
  void run_ready();
  void accept();
  void wake_sleepers();
  void sleep(Seat& seat, int64_t due);
  void weigh(int64_t from);
  void send_sleepers(bool home);  // home, or to the gatherer
  static void send(Seat& seat, StageWorker& to);

  Target& target_;
  Clock& clock_;
  std::unique_ptr<Session> session_;
  Bytewise* const bytewise_;  // the same; null: it is none
  Rest rest_;
  StageWorker* gatherer_ = nullptr;  // of the same place, takes over players that wait (stage/load.hpp); null: this one does
  Load load_;
  bool has_guests_ = false;  // or had in this play
  PlayState* play_ = nullptr;
  std::deque<Seat*> ready_;
  std::deque<Seat*> refused_;  // the target had no room for their operations
  std::priority_queue<Sleeper, std::vector<Sleeper>, std::greater<>> sleepers_;
  uint64_t sleeps_ = 0, in_flight_ = 0;
  int64_t latest_ = INT64_MIN;
  unsigned burst_ = 0;  // operations completed in the call since a player was resumed
  Tally tally_;

  std::mutex mutex_;
  std::vector<Seat*> inbox_;
  Tally handed_;
  alignas(64) std::atomic<bool> posted_{false}, wanted_{false};
  alignas(64) std::atomic<uint64_t> completions_{0};  // written by the worker's thread alone
  Room room_;                                         // for others' players
};

}  // namespace fsr
