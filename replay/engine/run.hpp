// SPDX-License-Identifier: Apache-2.0
// Runs the operations of a source on a target. Issues each when it is due and its dependencies are met, and compares its outcome.
//
// run() starts a planner thread and the workers, and calls options.progress from the calling thread. It returns when all issued
// operations have finished. All times are ns of the given clock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/differences.hpp"
#include "engine/knock_on_tracker.hpp"
#include "engine/made_of.hpp"
#include "engine/slowest.hpp"
#include "measure/interval.hpp"
#include "op.hpp"
#include "util/histogram.hpp"

namespace fsr {

class Clock;
class CredentialMap;
class ObjectSet;
class OpSource;
class Recording;
class Target;

constexpr int64_t kBehind = 10'000'000;  // ns after its due time from which an operation counts as behind the schedule

enum class Timing : uint8_t { original, think, asap };
enum class Order : uint8_t { resource, time, strict };
// Operations that go to one client of a target: those of a stream, a process or a user. any: each operation to the next client.
enum class ClientsBy : uint8_t { stream, process, user, any };

struct Progress {
  uint64_t planned = 0;    // operations that entered the window
  uint64_t done = 0;       // completed, skipped ones included
  uint64_t in_flight = 0;  // issued, not completed
  uint64_t differed = 0;   // outcomes that were not as recorded
  uint64_t unanswered = 0;
  uint64_t bytes = 0;                                      // read and written
  int64_t elapsed = 0;                                     // ns since the start of the schedule
  int64_t position = 0;                                    // recorded start of the latest operation issued, relative to `from`
  int64_t lateness = 0;                                    // worst lateness of the replayer since the last call, ns
  bool last = false;                                       // true: the final call
  std::array<uint64_t, kOpKinds> impossible{}, refused{};  // operations that were not issued, as in KindResult
};

struct RunOptions {
  Timing timing = Timing::original;
  Order order = Order::resource;
  ClientsBy clients_by = ClientsBy::stream;
  double scale = 1;                // multiple of the recorded speed; 4: four times the load
  bool durations = false;          // operations have the durations of a capture
  int64_t from = 0;                // recorded time at which the schedule starts; earlier operations are left out
  int64_t late = 0;                // ns by which all operations are due earlier than that, maybe before the run begins
  int64_t to = INT64_MAX;          // recorded time; operations that started at or after it are left out
  int64_t duration = 0;            // ns of the replay after which nothing more is issued; 0: no limit
  int64_t schedule = 0;            // ns that a requested load lasts; 0: until the last operation is due
  unsigned workers = 0;            // 0: one for each CPU
  size_t window_ops = 65536;       // unfinished operations in the window, at most
  size_t window_bytes = 64 << 20;  // bytes of their names and content, at most
  bool compare = true;             // compare outcomes with the recorded ones
  bool compare_data = true;        // compare content as well, if it was captured
  bool stop_on_error = false;      // end when an operation fails in another way than recorded; needs `compare`
  size_t mismatches = 20;          // number of mismatches that are described
  const CredentialMap* credentials = nullptr;    // users to act as; null: the user of this process
  ObjectSet* known = nullptr;                    // objects whose ids the target has mapped; the run adds those that it maps
  KnockOnTracker* knock_on = nullptr;            // told of operations that other processes can't do; null: the run's own
  const std::vector<uint64_t>* noted = nullptr;  // operations whose times the result has, in ascending order; null: none
  Recording* record = nullptr;                   // receives what is issued and its outcomes; must be started
  // Set for a source that waits for operations: the run then begins before the window is full. The planner's thread calls it with
  // a flag that is true once nothing more is to be issued; valid until the end of the run.
  std::function<void(const std::atomic<bool>& ended)> live;
  const std::atomic<int>* stop = nullptr;  // 1: issue nothing more, wait up to 1.5 s for operations in flight; 2: don't wait
  // Called when all is ready. Returns the time of the clock at which to begin, ns; may throw. Empty: begin at once.
  std::function<int64_t()> meet;
  std::function<void(const Progress&)> progress;  // may be empty
  int64_t progress_every = 200'000'000;
  // Receives each interval, with a row for each kind. Called from the calling thread. May be empty.
  std::function<void(const Interval&)> on_interval;
  int64_t interval = 1'000'000'000;  // ns; at least 1 ms
  // True: the planner and one worker take turns on the calling thread, for virtual time. The target's sessions move the clock.
  bool inline_workers = false;
};

// Each figure of a KindResult or RunResult has a row in engine/figures.hpp.
struct KindResult {
  uint64_t issued = 0;
  uint64_t ok = 0;           // succeeded on the target
  uint64_t matched = 0;      // compared, outcome as recorded
  uint64_t differed = 0;     // compared, outcome not as recorded
  uint64_t followed = 0;     // compared, outcome not as recorded because an earlier operation was not issued, or differed
  uint64_t permission = 0;   // of `differed`: EACCES or EPERM on one side only, while acting as another user than recorded
  uint64_t uncompared = 0;   // issued, but the capture has no outcome
  uint64_t approximate = 0;  // of `issued`: the target did something similar
  uint64_t failed = 0;       // of `differed`, `followed` and `uncompared`: an error that the capture does not have, or no answer
  uint64_t awaited = 0;      // operations that were behind the schedule because they waited for one of this kind
  uint64_t impossible = 0;   // not issued: the target has no such operation
  uint64_t refused = 0;      // not issued: a name or kind that must not reach a target
  uint64_t bytes = 0;        // read, written, copied
  Histogram service;         // issue to completion, of operations that did not fail
  Histogram recorded;        // recorded duration of the same operations
};

struct Mismatch {
  static bool earlier(const Mismatch& a, const Mismatch& b) { return a.seq < b.seq; }
  // Keeps the `most` mismatches with the lowest numbers, in this order.
  static void keep_first(std::vector<Mismatch>& list, size_t most);

  uint64_t seq = 0;
  OpKind kind = OpKind::null;
  std::string name;  // the operation's own name, empty if it has none; later its path, if that is found
  ObjectId object = kNoObject, parent = kNoObject;
  ThreadId thread = 0;
  std::string expected, got;  // "ENOENT", "ok", "4096 bytes", "other content"
  int64_t issued = 0;         // ns since the start of the run
};

// When an operation was issued and completed, ns since the start of the run.
struct NotedTimes {
  uint64_t seq = 0;
  int64_t issued = 0, ended = 0;
};

enum class Limit : uint8_t {
  none,      // the schedule was kept
  streams,   // the recorded order: operations waited for each other while target and replayer had room
  target,    // the service times of the target
  replayer,  // the lateness of the replayer: planning, submitting or reading the input did not keep up
};

// File content that was read and compared with captured content or fingerprints. A block is 4 KiB of a file, even if a read
// touched only a part of it.
struct ContentCompared {
  uint64_t blocks = 0, bytes = 0;
  uint64_t unknown = 0;  // further blocks whose content can't be predicted, because parts were overwritten
};

struct RunResult {
  std::array<KindResult, kOpKinds> kinds;
  Histogram lateness;  // issue - max(due, ready): the replayer's own error
  Histogram waiting;   // ready - due, if above 0: waiting for predecessors
  Histogram service;   // completion - issue, of operations that did not fail
  Histogram response;  // completion - due, of operations that did not fail; includes `open`
  Histogram open;      // lower bounds of the responses that never came: in flight at the end, overdue, or timed out
  Histogram failing;   // completion - issue, of operations that failed
  Slowest slowest;     // of the operations that did not fail
  MadeOf made_of;      // the responses of operations that did not fail; service without time in which this program stood still
  std::vector<uint64_t> due;  // number of operations due in each options.interval (timing original)

  int64_t began = 0;            // clock: start of the schedule; not saved for other processes
  int64_t elapsed = 0;          // from the start to the last completion, or to the end of schedule or duration if that is later
  int64_t recorded = 0;         // from options.from to the last recorded start or completion replayed
  int64_t planned = 0;          // length of the schedule, at most until the run was stopped (timing original)
  double recorded_service = 0;  // sum of the recorded durations of operations that did not fail, ns
  double think = 0;             // sum of the think times that were kept, ns (timing think)
  // ns of `lateness` and `waiting` that the replayer caused. Waits for a target without room are left out (timing original).
  double own_delay = 0;
  unsigned workers = 0;
  int64_t in_calls = 0;  // ns that all workers spent in calls of the target that returned with the outcome; others are queued
  uint64_t streams = 0;  // number of recorded threads
  uint64_t objects = 0;  // distinct objects touched

  uint64_t operations = 0;  // operations that entered the window
  uint64_t cancelled = 0;   // of `operations`: not issued because of duration, stop or an error
  uint64_t unfinished = 0;  // issued, but in flight at the end
  uint64_t overdue = 0;     // due before the run was stopped, and never issued (timing original)
  uint64_t unanswered = 0;  // of the failed ones: the target could not be reached, or did not answer in time
  uint64_t behind = 0;      // issued more than kBehind after they were due
  int64_t behind_time = 0;  // ns during which more than a tenth of the completed operations were behind
  uint64_t waited = 0;      // of `behind`: waited for predecessors
  uint64_t waited_own = 0;  // of `waited`: for an operation of their own thread
  int64_t silent = 0;       // ns in which the target answered nothing although it was asked, in periods of a second or more
  int64_t longest_silence = 0;
  int64_t stood_still = 0;  // ns in which no thread of this program ran
  int64_t longest_stand = 0;
  int64_t stolen = 0;        // ns that the host of a virtual machine took from each of its processors, on average
  uint64_t unrecorded = 0;   // operations whose outcome the capture does not have (all kinds)
  uint64_t edges = 0;        // waits for a completion or a start
  uint64_t free_pairs = 0;   // conflicting pairs that overlapped in the capture and that no outcome orders
  uint64_t violations = 0;   // issued before a predecessor allowed it: must be 0
  uint64_t auxiliary = 0;    // requests that the target added
  uint64_t window_full = 0;  // operations that were due before the window had room for them
  uint64_t bytes_read = 0, bytes_written = 0;
  ContentCompared content;
  uint64_t changed_listings = 0;               // of the matched ones: differed by no more names than changed during the listing
  std::optional<KnockOnTracker::Cause> cause;  // the earliest operation that was not done, or differed, and had a consequence
  uint64_t after_differences = 0;              // of `followed`: because an earlier operation differed
  KnockOnTracker::LeftOut left_out;
  Differences differences;  // all of them, in groups
  uint64_t mismatches_total = 0;
  std::vector<Mismatch> mismatches;  // the first ones, by seq
  std::vector<NotedTimes> noted;     // of RunOptions::noted, those that were issued
  bool stopped = false;              // ended early because of stop, duration or an error
  bool stopped_on_error = false;
  bool stopped_on_difference = false;  // true: an outcome without an error stopped it
  Limit limit = Limit::none;
  std::string limit_text;  // `limit` as a sentence

  void add_due(int64_t at, int64_t interval);  // counts an operation that was due `at` ns after the start
  uint64_t issued() const;
  uint64_t matched() const;
  uint64_t differed() const;
  uint64_t followed() const;
  std::string followed_from() const;  // `cause` in words; empty: none
  uint64_t due_in_all() const { return issued() + overdue; }
  double offered() const;  // offered load, operations per second; 0: as fast as possible
  uint64_t failed() const;
  double achieved() const;       // achieved load: operations per second that completed and did not fail
  double failed_rate() const;    // operations per second that failed
  double recorded_rate() const;  // operations per second of the same operations in the capture
};

// Executes a run. Throws std::runtime_error if the source can't be read or a session can't be opened.
RunResult run(OpSource& source, Target& target, Clock& clock, const RunOptions& options);

}  // namespace fsr
