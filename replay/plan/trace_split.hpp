// SPDX-License-Identifier: Apache-2.0
// Distributes the threads of one trace over the ranks of a run.
//
// Threads stay together if they used the same open instance or locked the same file, or if one removed a file that another had
// open. No rank could issue the operations of one of them alone. Among the resulting groups, those that waited most for each
// other are joined. The joined groups are assigned in order of load, the largest first. Each goes to the rank with which it
// shares most waits, as long as that rank stays below kMostLoad of the mean load. Waits of one rank for another are cut: they are
// counted and do not take place. Changes whose order the final tree shows are listed, to be checked after the run. All ranks get
// the same result without messages. Use from one thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "op.hpp"
#include "plan/dependencies.hpp"
#include "plan/final_order.hpp"
#include "util/object_set.hpp"

namespace fsr {

class Linearizer;
class LiveState;
struct ImageTree;

// True: `op` makes `object`, which did not exist before. `op` must have succeeded.
bool makes_object(const Op& op);

class TraceSplit {
 public:
  static constexpr double kMostLoad = 1.1;  // highest load of a rank, relative to the mean
  static constexpr size_t kNamed = 5;       // number of cut waits in `first_cut`

  struct Share {
    uint64_t operations = 0, streams = 0;
    double load = 0;  // part of the load of all ranks, 0 to 1
  };

  unsigned rank_of(ThreadId thread) const;
  unsigned rank_of_open(HandleId handle) const;  // for an open instance from before the first operation

  std::vector<Share> shares;           // by rank
  uint64_t waits = 0, cut = 0;         // waits of one operation for another
  std::vector<std::string> first_cut;  // "lookup a.o of thread 12 (ld) waits for create of thread 3 (cc1)"

  std::vector<FinalOrder::Pair> ordered;  // changes of two ranks
  std::vector<uint64_t> noted;            // the operations in `ordered`, in ascending order

  double cut_part() const { return waits ? double(cut) / double(waits) : 0; }

 private:
  friend class SplitSurvey;
  std::unordered_map<ThreadId, unsigned> ranks_;
  std::unordered_map<HandleId, ThreadId> opens_;
};

// Collects, from the operations of a trace in order of effect, what deal() needs.
class SplitSurvey {
 public:
  explicit SplitSurvey(size_t memory);  // approximate limit in bytes; add() throws std::length_error beyond it
  void begin(const LiveState& before);
  // `op`: the operation that `order` returned just now.
  void add(const Op& op, const Linearizer& order);
  // Assigns the threads to ranks. If there are fewer groups than ranks, some ranks get no thread.
  TraceSplit deal(unsigned ranks, const ImageTree& image);

 private:
  struct Thread {
    ThreadId id = 0;
    uint32_t group = 0;  // index of a thread closer to the one that stands for the group
    uint64_t operations = 0;
    double load = 0;
    std::string command;
  };
  struct Opened {
    uint32_t thread = 0;  // index into threads_
    ObjectId object = kNoObject;
  };
  // Waits between two threads. The other members describe the first of these waits.
  struct Pair {
    uint64_t waits = 0, seq = 0;
    OpKind later = OpKind::null, earlier = OpKind::null;
    uint32_t waiting = 0;  // index of the thread that waits
    std::string name;
  };
  struct Recent {
    uint32_t thread = 0;  // index into threads_
    OpKind kind = OpKind::null;
  };

  uint32_t index_of(ThreadId id);
  uint32_t group_of(uint32_t thread);
  void unite(uint32_t a, uint32_t b);
  void use(HandleId handle, ObjectId object, uint32_t thread);
  void open(HandleId handle, ObjectId object, uint32_t thread);
  void close(HandleId handle);
  void remove(ObjectId object, uint32_t thread);
  void wait_for(const Op& op, uint32_t thread, const Recent& earlier);
  void check_memory() const;
  std::vector<unsigned> share_out(unsigned ranks);  // returns the rank of each thread
  std::string text(const Pair& pair, uint32_t earlier) const;

  const size_t memory_;
  std::vector<Thread> threads_;
  std::unordered_map<ThreadId, uint32_t> by_id_;
  std::unordered_map<HandleId, Opened> open_, before_;           // open_: open now; before_: open before the first operation
  std::unordered_map<ObjectId, std::vector<uint32_t>> holders_;  // threads that have the object open
  std::unordered_map<ObjectId, uint32_t> lockers_;
  std::unordered_map<uint64_t, Pair> pairs_;
  std::vector<Recent> recent_;  // by slot of dependencies_
  ObjectSet known_;
  Dependencies dependencies_;
  FinalOrder final_;
  std::vector<Wait> waits_;
  uint64_t entered_ = 0, all_waits_ = 0;
};

}  // namespace fsr
