// SPDX-License-Identifier: Apache-2.0
// Runs a source of operations against a target: when each is due, what it waits for, and what came of it.
//
// run() starts one planner thread and the workers, calls options.progress from the calling thread, and returns when everything
// that was issued has finished. Times are nanoseconds on the clock given.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/knock_on_tracker.hpp"
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

struct Progress {
  uint64_t planned = 0;    // operations that entered the window
  uint64_t done = 0;       // completed, skipped ones included
  uint64_t in_flight = 0;  // submitted, not completed
  uint64_t differed = 0;   // outcome not as recorded
  uint64_t bytes = 0;      // read and written
  int64_t elapsed = 0;     // since the start of the schedule
  int64_t position = 0;    // recorded start, relative to `from`, of the latest operation issued
  int64_t lateness = 0;    // worst lateness of the replayer since the last call
  bool last = false;       // the final call
};

struct RunOptions {
  Timing timing = Timing::original;
  Order order = Order::resource;
  double scale = 1;                            // 4 = four times the load
  int64_t from = 0;                            // recorded time that the schedule starts at; earlier operations are left out
  int64_t to = INT64_MAX;                      // operations that started at or after it are left out
  int64_t duration = 0;                        // replay time after which nothing more is issued; 0 = no limit
  int64_t schedule = 0;                        // ns that a requested load lasts; 0 = until the last operation is due
  unsigned workers = 0;                        // 0 = one for each CPU
  size_t window_ops = 65536;                   // unfinished operations looked at, at most
  size_t window_bytes = 64 << 20;              // and the memory that their names and content take
  bool compare = true;                         // outcomes with the recorded ones
  bool compare_data = true;                    // content too, where it was captured
  bool stop_on_error = false;                  // end when an operation fails otherwise than recorded; needs `compare`
  size_t mismatches = 20;                      // how many are kept by name
  const CredentialMap* credentials = nullptr;  // who to act as; null: nobody in particular (self)
  ObjectSet* known = nullptr;                  // objects that the target already knows; extended by those that the run taught it
  Recording* record = nullptr;                 // started already: what is issued and what came of it
  const std::atomic<int>* stop = nullptr;      // 1: issue nothing more, wait 2 s for what is under way at most; 2: don't
  // Called when all is ready, it returns the clock at which to begin, ns; may throw. Empty: at once.
  std::function<int64_t()> meet;
  std::function<void(const Progress&)> progress;  // may be empty
  int64_t progress_every = 200'000'000;
  std::function<void(const Interval&)>
      on_interval;                   // its rows are the kinds of operations; from the calling thread; may be empty
  int64_t interval = 1'000'000'000;  // ns; at least 1 ms
  // Planner and one worker take turns on the calling thread: for virtual time. The target's sessions move the clock.
  bool inline_workers = false;
};

struct KindResult {
  uint64_t issued = 0;
  uint64_t ok = 0;           // succeeded on the target
  uint64_t matched = 0;      // compared, outcome as recorded
  uint64_t differed = 0;     // compared, outcome not as recorded
  uint64_t followed = 0;     // compared, not as recorded since an operation before it was not issued
  uint64_t permission = 0;   // of `differed`: EACCES or EPERM on one side only, while acting as someone else than recorded
  uint64_t uncompared = 0;   // issued, but the capture has no outcome
  uint64_t approximate = 0;  // of `issued`: the target does something like it
  uint64_t failed =
      0;  // of `differed`, `followed` and `uncompared`: in an error that the capture does not have, or without an answer
  uint64_t awaited = 0;     // operations that were behind the schedule since they waited for one of this kind
  uint64_t impossible = 0;  // not issued: the target has no such operation
  uint64_t refused = 0;     // not issued: name or kind that must not reach a target
  uint64_t bytes = 0;       // read, written, copied
  Histogram service;        // issue to completion, of those that did not fail
  Histogram recorded;       // what the same took in the capture
};

struct Mismatch {
  static bool earlier(const Mismatch& a, const Mismatch& b) { return a.seq < b.seq; }
  // The first `most` of a list, by their numbers and in their order.
  static void keep_first(std::vector<Mismatch>& list, size_t most);

  uint64_t seq = 0;
  OpKind kind = OpKind::null;
  std::string name;  // the operation's own name, empty if it has none
  ObjectId object = kNoObject;
  ThreadId thread = 0;
  std::string expected, got;  // "ENOENT", "ok", "4096 bytes", "other content"
};

enum class Limit : uint8_t {
  none,      // the schedule was kept
  streams,   // the recorded order: operations waited for each other while target and replayer had room
  target,    // its service times
  replayer,  // lateness: planning, submitting or reading the input did not keep up
};

// What was read of files and compared with what the capture holds, whole or as fingerprints. Blocks are 4 KiB of a file, also
// where a read touched a part of one.
struct ContentCompared {
  uint64_t blocks = 0, bytes = 0;
  uint64_t unknown = 0;  // further blocks: overwritten in parts, what they should hold can't be told
};

struct RunResult {
  std::array<KindResult, kOpKinds> kinds;
  Histogram lateness;         // issue - max(due, ready): the replayer's own
  Histogram waiting;          // ready - due where above 0: for predecessors
  Histogram service;          // completion - issue, of what did not fail
  Histogram response;         // completion - due: from the planned time; likewise, and of `open`
  Histogram open;             // lower bounds of the responses that never came: in flight at the end, overdue, or timed out
  Histogram failing;          // completion - issue, of what failed
  Slowest slowest;            // of what did not fail
  std::vector<uint64_t> due;  // how many operations were due in each options.interval (timing original)

  int64_t began = 0;            // clock: the start of the schedule; not saved for other processes
  int64_t elapsed = 0;          // from the start to the last completion, or to the end of schedule or duration if that is later
  int64_t recorded = 0;         // from options.from to the last recorded start or completion replayed
  int64_t planned = 0;          // length of the schedule, at most until the run was stopped (timing original)
  double recorded_service = 0;  // sum of the recorded durations of what was issued, ns
  double think = 0;             // sum of the think times that were kept, ns (timing think)
  double own_delay =
      0;  // ns of `lateness` and `waiting` that the replayer caused, rather than a target without room (timing original)
  unsigned workers = 0;
  uint64_t streams = 0;  // threads seen
  uint64_t objects = 0;  // distinct objects touched

  uint64_t operations = 0;  // entered the window
  uint64_t cancelled = 0;   // of those: not issued because of duration, stop or an error
  uint64_t unfinished = 0;  // issued, but still under way at the end
  uint64_t overdue = 0;     // due before the run was stopped, and never issued (timing original)
  uint64_t unanswered = 0;  // of the failed ones: the target could not be reached, or did not answer in time
  uint64_t behind = 0;      // issued more than kBehind after they were due
  int64_t behind_time = 0;  // ns during which a tenth of what was done was behind
  uint64_t waited = 0;      // of those: for predecessors
  uint64_t waited_own = 0;  // of those: for one of their own thread
  int64_t silent = 0;       // ns in which the target answered nothing although it was asked, in stretches of a second or more
  int64_t longest_silence = 0;
  int64_t stood_still = 0;  // ns in which no thread of this program ran
  int64_t longest_stand = 0;
  int64_t stolen = 0;        // ns that the host of a virtual machine took from each of its processors, on average
  uint64_t unrecorded = 0;   // the capture has no outcome for them (all kinds)
  uint64_t edges = 0;        // waits for a completion or a start
  uint64_t free_pairs = 0;   // overlapped in the capture, no outcome orders them
  uint64_t violations = 0;   // issued before a predecessor allowed it: must be 0
  uint64_t auxiliary = 0;    // requests that the target added
  uint64_t window_full = 0;  // operations that were due before there was room to plan them
  uint64_t bytes_read = 0, bytes_written = 0;
  ContentCompared content;
  std::optional<KnockOnTracker::Cause> cause;  // the first that something followed from
  KnockOnTracker::LeftOut left_out;
  uint64_t mismatches_total = 0;
  std::vector<Mismatch> mismatches;  // the first ones, by seq
  bool stopped = false;              // ended early by stop, duration or an error
  bool stopped_on_error = false;
  Limit limit = Limit::none;
  std::string limit_text;  // the same in one sentence

  void add_due(int64_t at, int64_t interval);  // an operation that was due `at` ns after the start
  uint64_t issued() const;
  uint64_t matched() const;
  uint64_t differed() const;
  uint64_t followed() const;
  uint64_t due_in_all() const { return issued() + overdue; }
  double offered() const;  // operations a second asked for; 0 when as fast as possible
  uint64_t failed() const;
  double achieved() const;     // operations a second that were done and did not fail
  double failed_rate() const;  // that failed, a second
};

// Throws std::runtime_error when the source can't be read or a session can't be opened.
RunResult run(OpSource& source, Target& target, Clock& clock, const RunOptions& options);

}  // namespace fsr
