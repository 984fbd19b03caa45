// SPDX-License-Identifier: Apache-2.0
// A run of a model: its processes, and when each goes on. The source files of ModelSource share it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "model/model_index.hpp"
#include "model/model_source.hpp"
#include "model/realiser.hpp"
#include "model/urn.hpp"

namespace fsr {

constexpr double kMissing = 0.005;                // share of a class's operations that may be missing at the end
constexpr int64_t kShortest = 1'000'000;          // ns of a run, so that a load of one operation can repeat
constexpr uint64_t kLongest = uint64_t(1) << 60;  // ns of a pause or operation
constexpr int64_t kLast = int64_t(1) << 62;       // ns, of all starts

constexpr int kMostWaits = 256;  // operations of others for which a step waits that they may make possible

// The directory of one run of the load, which its processes share.
struct Home {
  Realiser realiser;
  std::vector<std::deque<const Course*>> children;  // by class: courses that no process follows yet
  double left = 0;                                  // operations that its courses may still do
  bool whole = true;                                // they do them all
};

// Processes of a class that a process has started.
struct Children {
  uint32_t started = 0, running = 0, ended = 0;  // ended: it has not waited for these yet
};

// A process that runs, or waits to run, or to the end of another one.
struct Process {
  uint64_t serial = 0;
  uint32_t parent = 0;                    // process that started it,
  uint64_t parent_serial = 0;             // if this is that one's number; 0: a root
  std::map<uint32_t, Children> children;  // by class
  std::optional<uint32_t> awaits;         // class
  uint32_t number = 0;                    // of its class
  uint32_t copy = 0;
  uint64_t wanted = 0, done = 0;  // steps
  int failed = 0;                 // steps in a row
  std::vector<SymbolId> history{kEndOfProcess};
  SymbolId planned = kEndOfProcess;
  const Course* course = nullptr;
  size_t at = 0;      // number of the next step of `course`
  int waited = 0;     // operations of others, for the planned step
  int64_t begin = 0;  // ns; of the run of its course
  std::shared_ptr<Home> home;
  Urn* urn = nullptr;  // of `planned`
  std::unordered_map<const ModelContext*, Urn> urns;
  uint32_t last_kind = kAnyKind;
  Actor actor;
  ThreadInfo who;
};

struct Event {
  int64_t time = 0;
  uint64_t order = 0;  // equal times stay in the order in which they were made
  uint32_t process = 0;
  bool operator>(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
};

struct ModelSource::Impl {
  // One run of the load in a directory of its own, and the runs that follow it.
  struct Copy {
    double part = 1;  // of the processes
    ObjectId root;
    std::shared_ptr<Home> home;  // of the latest run; each run of courses has its own
    Copy(double p, ObjectId r, size_t classes)
        : part(p),
          root(r),
          running(classes),
          left(classes),
          waiting(classes),
          owed(classes),
          budget(classes),
          to_start(classes) {}
    std::vector<uint32_t> running, left;        // by class; left: those that have not ended
    std::vector<std::deque<uint32_t>> waiting;  // by class
    std::vector<double> owed;                   // steps by class that ended processes did not do
    std::vector<double> budget;                 // steps by class that are still to be done; below 0: too many were done
    std::vector<double> to_start;               // processes by class that others may still start
    std::unordered_map<const ModelContext*, Urn> urns;
    std::unordered_map<const Gaps*, double> gaps;    // drawn
    std::unordered_map<ObjectId, int64_t> changing;  // directory: when the last change of its names ends
  };

  const LoadModel& model;
  const ModelIndex index;
  const ModelOptions options;
  ModelWorld world;
  Random random;
  std::deque<Copy> copies;
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<uint32_t> spare;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<uint32_t> waits_for_lock;  // processes that try again when a lock comes or goes
  uint64_t order = 0;
  uint64_t serials = 0;
  ThreadId threads = 0;
  const double runs;                       // of the load, one after the other
  const uint64_t cycles;                   // the same, whole; of courses, the last one may have a part of the load
  const int64_t span;                      // ns of each
  const double of_run;                     // part of the load that each has, about 1
  const int64_t busy;                      // ns of each without the stalls
  const std::array<double, kPaces> paces;  // part of the steps of courses that has each
  int64_t now = 0;
  uint64_t cycle = 0;  // number of the next run of the load
  ModelCounts counts;
  std::unordered_map<const Quantiles*, EvenDraw> draws;
  std::unordered_map<uint32_t, std::vector<std::pair<SymbolId, uint64_t>>> phase_symbols;

  Impl(const LoadModel& m, const ModelOptions& o)
      : model(m),
        index(m),
        options(o),
        random(o.seed),
        runs(o.duration ? double(o.duration) / double(whole_span()) : 1),
        cycles(cycles_of(runs)),
        span(!o.duration    ? whole_span()
             : of_courses() ? std::min(o.duration, whole_span())
                            : o.duration / int64_t(cycles)),
        of_run(double(span) / double(whole_span())),
        busy(span - int64_t(of_run * double(stalled()))),
        paces(shares_of_paces()) {
    const auto whole = size_t(std::ceil(options.load - 1e-9));
    for (size_t i = 0; i < whole; ++i) {
      const ObjectId root = whole == 1 ? kRootObject : world.tree.add(kDirectoryType, kRootObject, world.tree.new_name(), false);
      copies.emplace_back(of_run * std::min(1.0, options.load - double(i)), root, model.classes.size());
    }
    counts.wanted = uint64_t(std::llround(double(model.operations) * options.load * runs));
  }
  bool of_courses() const { return form_of(model) == ModelForm::courses; }
  // A course can become shorter, but not longer.
  uint64_t cycles_of(double all) const { return uint64_t(std::max(1.0, of_courses() ? std::ceil(all - 1e-9) : std::round(all))); }
  int64_t stalled() const {
    const std::vector<int64_t> all = stalls_of(model);
    return std::accumulate(all.begin(), all.end(), int64_t(0));
  }
  int64_t whole_span() const { return std::max(kShortest, model.span); }

  EvenDraw& draw_of(const Quantiles& q) { return draws.try_emplace(&q, EvenDraw(random.unit())).first->second; }
  double draw_time(const Quantiles& q, const Process& p, double share = 1);
  std::array<double, kPaces> shares_of_paces() const;

  void end_by_signal();  // throws if a signal asks the program to end, which must not wait for a batch
  void begin_cycle();
  void begin_class(uint32_t copy, uint32_t number, int64_t offset);
  uint32_t add_process(uint32_t copy, uint32_t number, double wanted, const Course* course = nullptr);
  void begin_home(Copy& copy);
  void begin_courses(uint32_t copy, int64_t offset);
  bool may_wait(Process& p, int64_t time);
  bool lacks_open(const Process& p) const;
  void retry_locks(int64_t time);
  void start(uint32_t process, int64_t time);
  void finish(uint32_t process, int64_t time);
  void drop(uint32_t process, int64_t time);
  void wake(Copy& copy, uint32_t number, int64_t time);
  void start_child(uint32_t process, uint32_t number, int64_t time);
  void start_missing_children(uint32_t process, int64_t time);
  void child_ended(const Process& child, int64_t time);
  void process_step(uint32_t process, int64_t time);
  bool fill_up(int64_t time);
  void go_on(uint32_t process, int64_t time);
  int64_t gap(const Process& p, uint32_t kind);
  int64_t after_pause(const Process& p) const;
  bool lists(SymbolId symbol) const;
  int64_t may_list(const Process& p);
  int64_t may_do(Process& p, SymbolId symbol);
  uint32_t phase(const Process& p) const;
  void plan(Process& p);
  SymbolId any_symbol(uint32_t phase);
  bool step(Process& p, Op& op, Arena& arena, bool* ends);
  void run(uint32_t number, int64_t time, OpBatch& batch);
  bool next(OpBatch& batch);
};

inline int64_t ns_of(uint64_t microseconds) { return int64_t(microseconds) * 1000; }

// How many operations a process may end before or after its number of them. If a class has many short processes, each ends where
// its kind does, and their number is adjusted; the last ones end when the class has done its operations. The processes of other
// classes keep to their numbers.
constexpr double kMany = 8, kShort = 400;  // processes; operations of each
inline bool are_many(const ProcessClass& c) { return c.processes >= kMany && c.steps <= kShort * c.processes; }
// Steps of a class that may be missing or too many at the end.
inline double missing(const ProcessClass& c, double part) { return std::max(1.0, c.steps * part * kMissing); }
inline bool are_roots(const ProcessClass& c) { return c.roots >= c.processes; }

struct Ends {
  uint64_t least = 0, most = 0;
};
inline Ends ends_of(const ProcessClass& c, uint64_t wanted) {
  if (are_many(c)) return {0, 3 * wanted + 16};
  return {wanted - wanted / 50, wanted + wanted / 50 + 16};
}

inline void remember(Process& p, SymbolId symbol) {
  p.history.push_back(symbol);
  if (p.history.size() > kMostHistory) p.history.erase(p.history.begin());
}

}  // namespace fsr
