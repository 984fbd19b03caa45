// SPDX-License-Identifier: Apache-2.0
// Shares the threads of one trace out to the ranks of a run.
//
// Threads that used the same open instance, locked the same file, or removed what another had open, stay together: no rank could
// do their operations alone. Of the groups that come of that, those that waited for each other most are joined; what results
// goes, most load first, to the rank that it has most to do with, as long as that keeps below kMostLoad of the mean. What an
// operation of one rank would have waited for on another is not waited for: such waits are cut, and counted. All ranks come to
// the same result without asking each other. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "op.hpp"
#include "plan/dependencies.hpp"
#include "util/object_set.hpp"

namespace fsr {

class Linearizer;
class LiveState;
struct ImageTree;

// Whether `object` did not exist before; of an operation that succeeds.
bool makes_object(const Op& op);

class TraceSplit {
 public:
  static constexpr double kMostLoad = 1.1;
  static constexpr size_t kNamed = 5;  // cut waits that are told

  struct Share {
    uint64_t operations = 0, streams = 0;
    double load = 0;  // of all, 0 to 1
  };

  unsigned rank_of(ThreadId thread) const;
  unsigned rank_of_open(HandleId handle) const;  // of what was open before the first operation

  std::vector<Share> shares;           // by rank
  uint64_t waits = 0, cut = 0;         // waits of one operation for another
  std::vector<std::string> first_cut;  // "lookup a.o of thread 12 (ld) waits for create of thread 3 (cc1)"

  double cut_part() const { return waits ? double(cut) / double(waits) : 0; }

 private:
  friend class SplitSurvey;
  std::unordered_map<ThreadId, unsigned> ranks_;
  std::unordered_map<HandleId, ThreadId> opens_;
};

// Looks at the operations of a trace in order of effect.
class SplitSurvey {
 public:
  explicit SplitSurvey(size_t memory);  // bytes that it may take, about; std::length_error when that isn't enough
  void begin(const LiveState& before);
  // `op` was handed out by `order` just now.
  void add(const Op& op, const Linearizer& order);
  // With fewer groups than ranks, some ranks get nothing.
  TraceSplit deal(unsigned ranks, const ImageTree& image);

 private:
  struct Thread {
    ThreadId id = 0;
    uint32_t group = 0;  // towards the index of one that stands for all
    uint64_t operations = 0;
    double load = 0;
    std::string command;
  };
  struct Opened {
    uint32_t thread = 0;  // index
    ObjectId object = kNoObject;
  };
  // Waits between two threads, and the first of them.
  struct Pair {
    uint64_t waits = 0, seq = 0;
    OpKind later = OpKind::null, earlier = OpKind::null;
    uint32_t waiting = 0;  // index
    std::string name;
  };
  struct Recent {
    uint32_t thread = 0;  // index
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
  std::vector<unsigned> share_out(unsigned ranks);  // the rank of each thread
  std::string text(const Pair& pair, uint32_t earlier) const;

  const size_t memory_;
  std::vector<Thread> threads_;
  std::unordered_map<ThreadId, uint32_t> by_id_;
  std::unordered_map<HandleId, Opened> open_, before_;           // now; of these, those opened before the first operation
  std::unordered_map<ObjectId, std::vector<uint32_t>> holders_;  // threads that have it open
  std::unordered_map<ObjectId, uint32_t> lockers_;
  std::unordered_map<uint64_t, Pair> pairs_;
  std::vector<Recent> recent_;  // by slot of dependencies_
  ObjectSet known_;
  Dependencies dependencies_;
  std::vector<Wait> waits_;
  uint64_t entered_ = 0, all_waits_ = 0;
};

}  // namespace fsr
