// SPDX-License-Identifier: Apache-2.0
// Moves operations from the source into the window, in order of effect. Decides what each operation waits for, when it is due,
// and which worker runs it. Use from one thread at a time. Workers get operations only through the window and Worker::post().
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "engine/worker.hpp"
#include "plan/dependencies.hpp"
#include "plan/linearizer.hpp"
#include "plan/listing_changes.hpp"
#include "util/object_set.hpp"

namespace fsr {

class Planner {
 public:
  Planner(RunState& run, OpSource& source);

  // Plans operations. False: the window is full. True: the source has ended or the run is cancelled. Throws what the source
  // throws.
  bool step();
  void end();  // marks the end: no further operation will come
  // Counts, after a run that was stopped, the operations that had become due and never entered the window. Throws what the source
  // throws.
  void add_unread(RunResult& result);
  void merge_into(RunResult& result);

 private:
  static constexpr uint32_t kBatch = 32;  // nodes handed to a worker together with Timing::asap

  // An operation from which think times of others count. It may have finished long ago.
  struct ThinkTimeBase {
    uint32_t slot = 0, generation = 0;
    bool finished = false;
    int64_t start = 0, end = 0;     // recorded
    int64_t issued = 0, ended = 0;  // clock, without the node's lag; valid if finished
  };
  struct WorkerBatch {
    Node* first = nullptr;
    Node* last = nullptr;
    uint32_t count = 0;
  };

  void reclaim();
  bool starving() const;
  void plan(const Op& op, Node& node);
  void link(Node& node, Node& before, bool for_end, bool anchor);
  void schedule(const Op& op, Node& node);
  ThinkTimeBase* think_time_base_of(const Op& op, const Node& node);
  void anchor_to(const Op& op, Node& node, ThinkTimeBase& anchor);
  void remember(std::unordered_map<uint64_t, ThinkTimeBase>& anchors, uint64_t key, const Op& op, const Node& node);
  void hand_out(Node& node);
  void flush();
  int64_t scaled(int64_t ns) const { return int64_t(std::clamp(double(ns) * per_scale_, -kLatest, kLatest)); }

  RunState& run_;
  const RunOptions& options_;
  static constexpr double kLatest = 0x1p62;  // ns, 146 years: the time of the clock can be added to it
  double per_scale_;
  Linearizer linearizer_;
  ObjectSet own_known_, touched_, threads_;
  Dependencies dependencies_;
  ListingChanges listing_changes_;
  std::vector<Wait> waits_;
  std::vector<WorkerBatch> batches_;
  const Op* op_ = nullptr;  // the next operation, if it waits for room
  bool waited_ = false;     // true: `op_` had to wait for room
  bool stopped_ = false;
  uint64_t planned_ = 0, added_lookups_ = 0, edges_ = 0, window_full_ = 0, streams_ = 0;

  // The previous operation, for strict and time order.
  uint32_t previous_slot_ = 0, previous_generation_ = 0;
  bool has_previous_ = false;

  // Timing::think only.
  std::unordered_map<uint64_t, ThinkTimeBase> thread_anchors_, process_anchors_, handle_anchors_;
  struct Owner {
    uint64_t process = 0;
    bool known = false;
  };
  std::vector<Owner> owners_;  // by slot: the process of the operation in it
};

}  // namespace fsr
