// SPDX-License-Identifier: Apache-2.0
// A player's way to the world: performs operations, waits, counts.
//
// Only the player's own coroutine uses its seat, on the thread of the worker that the seat belongs to at the time. Everything
// that is awaited is awaited by one coroutine at a time: a seat has one operation under way.
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/target.hpp"
#include "engine/recording.hpp"
#include "measure/tally.hpp"
#include "op.hpp"
#include "stage/actor.hpp"

namespace fsr {

class Barrier;
class StageWorker;
struct PlayState;

// How an operation is performed.
struct How {
  std::string_view payload = {};  // of a write: op.length bytes
  int64_t due = 0;                // the time that the response counts from; 0: its issue
  bool want_data = false;         // of a read; otherwise it may be discarded unseen
  char* room = nullptr;           // op.length bytes where a target may put data that is wanted; Outcome::data says where it is
  bool want_attr = false;         // of what is made or linked
  bool generated = false;         // the payload is Payload's, of op.object at op.offset
};

class Seat {
 public:
  Seat(PlayState& play, StageWorker& worker, unsigned number) : play_(play), worker_(&worker), home_(&worker), number_(number) {}
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  class Performed;
  class Slept;
  class Arrived;
  class Moved;
  class Worked;

  // co_await yields const Outcome&, which with its data and entries lives until this seat's next co_await. `op` and the payload
  // stay in place until then. An operation that the target can't express ends with EOPNOTSUPP.
  Performed perform(const Op& op, Row row = kUncounted, const How& how = {});
  // co_await yields the time, ns: `due` or a little later; earlier only when the play ends.
  Slept until(int64_t due);
  // co_await yields whether all parties have come. False: the play ends first.
  Arrived arrive(Barrier& barrier);
  void leave(Barrier& barrier);  // one party less: the others wait for it no longer
  // The player goes on on a worker of another target, by the number that Stage::add() gave it.
  Moved move_to(unsigned place);
  // A thread of a pool does the job, which throws nothing, and the player goes on when it is done.
  Worked blocking(std::function<void()> job);

  // A read or write of which each byte is a request of its own, within the call and uncounted, while nobody else on the worker
  // has a turn. Yields how many were transferred; the player performs the others itself. 0 where the target is none that does
  // this (base/bytewise.hpp), or a recording wants to see each.
  uint64_t perform_bytes(const Op& op, std::string_view payload = {});

  // Counts what is made of several operations.
  void count(Row row, const Sample& sample);

  int64_t now() const;
  int64_t issued() const { return issued_; }  // the latest operation
  int64_t started() const;                    // when the play began
  bool ended() const;                         // the play is over: return soon
  Target& target() const;
  ThreadId thread() const { return number_ + 1; }
  // Never given twice by the same stage.
  ObjectId new_object() { return new_id(); }
  HandleId new_handle() { return new_id(); }

 private:
  friend class Barrier;
  friend class Stage;
  friend class StageWorker;

  uint64_t new_id();
  bool in_flight() const { return request_.op && !to_submit_ && request_.outcome.completed == 0 && row_ != kUncounted; }

  PlayState& play_;
  StageWorker* worker_;
  StageWorker* home_;  // its worker but for the time that it is lent to another
  const unsigned number_;
  Actor actor_;
  std::coroutine_handle<> waiting_;  // what goes on next: the actor or something that it awaits
  bool to_submit_ = false;           // request_ has not reached the target yet
  bool came_together_ = false;       // the barrier's answer
  Request request_;
  Row row_ = kUncounted;
  int64_t due_ = 0, issued_ = 0;
  int64_t asleep_until_ = 0;  // while it is sent to another worker asleep
  Recording::Entry* recorded_ = nullptr;
  uint64_t next_id_ = 0, end_of_ids_ = 0;
};

class Seat::Performed {
 public:
  explicit Performed(Seat& seat) : seat_(seat) {}
  bool await_ready();
  void await_suspend(std::coroutine_handle<> h);
  const Outcome& await_resume() const { return seat_.request_.outcome; }

 private:
  Seat& seat_;
  bool gives_way_ = false;  // to others, before the operation is submitted
};

class Seat::Slept {
 public:
  Slept(Seat& seat, int64_t due) : seat_(seat), due_(due) {}
  bool await_ready() const { return seat_.ended() || due_ <= seat_.now(); }
  void await_suspend(std::coroutine_handle<> h);
  int64_t await_resume() const { return seat_.now(); }

 private:
  Seat& seat_;
  const int64_t due_;
};

class Seat::Arrived {
 public:
  Arrived(Seat& seat, Barrier& barrier) : seat_(seat), barrier_(barrier) {}
  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> h);
  bool await_resume() const { return seat_.came_together_; }

 private:
  Seat& seat_;
  Barrier& barrier_;
};

class Seat::Moved {
 public:
  Moved(Seat& seat, unsigned place) : seat_(seat), place_(place) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> h);
  void await_resume() const {}

 private:
  Seat& seat_;
  const unsigned place_;
};

class Seat::Worked {
 public:
  Worked(Seat& seat, std::function<void()> job) : seat_(seat), job_(std::move(job)) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> h);
  void await_resume() const {}

 private:
  Seat& seat_;
  std::function<void()> job_;
};

inline Seat::Slept Seat::until(int64_t due) { return {*this, due}; }
inline Seat::Arrived Seat::arrive(Barrier& barrier) { return {*this, barrier}; }
inline Seat::Moved Seat::move_to(unsigned place) { return {*this, place}; }
inline Seat::Worked Seat::blocking(std::function<void()> job) { return {*this, std::move(job)}; }

}  // namespace fsr
