// SPDX-License-Identifier: Apache-2.0
// The unfinished operations of a run: a bounded number of nodes. Each has its operation, what it waits for and what waits for it.
//
// The planner takes nodes and links them to their predecessors. Workers run and complete them and give them back. Only unfinished
// operations take nodes, so an operation that never ends blocks only those that depend on it.
//
// Threads: the planner calls take() and reclaim() and sets up nodes. A node belongs to its worker from the moment that nothing is
// pending. The atomics of Node link the two. There are no locks.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/op_copy.hpp"
#include "base/target.hpp"
#include "engine/recording.hpp"

namespace fsr {

struct Node;

// A wait of `owner` for the node in whose list the edge is. It is stored in the owner, so that a new edge needs no allocation.
struct Edge {
  Edge* next = nullptr;
  Node* owner = nullptr;
  int64_t satisfied = INT64_MAX;  // clock: when the wait ended; INT64_MAX: not yet
  int64_t lag = 0;                // part of that time that the replayer caused, as Node::lag
  bool anchor = false;            // true: the owner's think time counts from then
  // The operation that was waited for, set when it lets the owner go. Null: the wait had ended before the edge was added.
  OpKind kind = OpKind::null;
  ThreadId thread = 0;
};

class EdgeList {
 public:
  void reset() { head_.store(nullptr, std::memory_order_relaxed); }
  // Adds an edge. False: the list is closed, because the awaited event has happened.
  bool push(Edge& edge) {
    Edge* head = head_.load(std::memory_order_acquire);
    do {
      if (head == &kClosed) return false;
      edge.next = head;
    } while (!head_.compare_exchange_weak(head, &edge, std::memory_order_acq_rel, std::memory_order_acquire));
    return true;
  }
  // Closes the list. Returns all edges in the order in which they were pushed. Null: there are none, or the list was closed
  // before.
  Edge* close() {
    Edge* list = head_.exchange(&kClosed, std::memory_order_acq_rel);
    if (list == &kClosed) return nullptr;
    Edge* ordered = nullptr;
    while (list) {
      Edge* next = list->next;
      list->next = ordered;
      ordered = list;
      list = next;
    }
    return ordered;
  }
  const Edge* peek() const {
    const Edge* head = head_.load(std::memory_order_relaxed);
    return head == &kClosed ? nullptr : head;
  }

 private:
  static Edge kClosed;
  std::atomic<Edge*> head_{nullptr};
};

// The first cache line has all that planner and worker look at when a node is taken, linked to, or given back.
struct alignas(64) Node {
  std::atomic<uint32_t> pending{0};  // number of waits, plus one while the planner works on the node
  uint32_t slot = 0;
  uint32_t generation = 0;  // of the slot; used by the planner
  uint16_t worker = 0;
  bool anchored = false;
  bool refused : 1 = false;  // true: must not reach a target
  bool large : 1 = false;    // true: holds memory that an ordinary operation doesn't need
  EdgeList after_issue, after_end;
  Node* next = nullptr;  // next node of the list that this node is in

  // Times of the schedule, ns. `due` is relative to the start of the schedule. If `anchored`, it is a think time after `base`.
  int64_t due = 0;
  int64_t base = 0;   // clock: time of the operation that the think time counts from, without its lag
  int64_t ready = 0;  // clock: when its predecessors were done; 0: there are none, or it has not come to its worker

  OpCopy copy;
  int64_t issued = -1;  // clock; -1: not yet
  int64_t lag = 0;      // ns by which it was issued later than if the replayer had never been late; not known with Timing::asap
  int64_t room = 0;     // Worker::no_room_ when it came to the worker
  int64_t ended = -1;   // clock; -1: not yet
  uint64_t listing_changes = 0;  // of the end of a listing: ListingChanges::note()
  TargetRequest request;
  std::string scratch;  // payload of an oversized write
  Recording::Entry* recorded = nullptr;

  Edge& add_edge();
  template <class Visit>
  void each_edge(Visit visit) const {
    for (uint32_t i = 0; i < edges_ && i < kInline; ++i) visit(inline_[i]);
    uint32_t left = edges_ > kInline ? edges_ - kInline : 0;
    for (const Chunk* c = more_.get(); c; c = c->next.get()) {
      uint32_t n = c->next || left % kChunk == 0 ? kChunk : left % kChunk;
      for (uint32_t i = 0; i < n; ++i) visit(c->edges[i]);
    }
  }
  void clear_edges();
  // Prefetches the node that waits for the end of this one, because another core wrote it. The address is a guess, right for
  // nodes that wait by one of their first edges.
  void prefetch_waiting() const {
    const Edge* edge = after_end.peek();
    if (!edge) return;
    const char* node =
        reinterpret_cast<const char*>(this) + (reinterpret_cast<const char*>(edge) - reinterpret_cast<const char*>(inline_));
    for (size_t line = 0; line < sizeof(Node); line += 64) __builtin_prefetch(node + line, 1);
  }

 private:
  static constexpr uint32_t kInline = 4, kChunk = 32;
  struct Chunk {
    Edge edges[kChunk];
    std::unique_ptr<Chunk> next;
    ~Chunk();
  };
  uint32_t edges_ = 0;
  Edge inline_[kInline];
  std::unique_ptr<Chunk> more_;
  Chunk* last_ = nullptr;
};

class Window {
 public:
  // `slots`: number of nodes. `bytes`: limit for memory beyond the nodes. `first`: number of nodes that may be taken until grow()
  // is called; few nodes in quick rotation stay in the cores' caches.
  Window(size_t slots, size_t bytes, size_t first);

  // Planner. Returns a free node. Null: the window is full. `bytes`: size of what its operation points to.
  Node* take(size_t bytes);
  // Planner. Frees the nodes that workers gave back, and calls `each` for every one of them. False: there were none.
  template <class Each>
  bool reclaim(Each each) {
    Node* list = returned_.exchange(nullptr, std::memory_order_acquire);
    bool any = list;
    while (list) {
      Node* next = list->next;
      __builtin_prefetch(next, 1);  // as take() does
      each(*list);
      put_free(*list);
      list = next;
    }
    return any;
  }
  void assign(Node& node, const Op& op, bool complete) {
    node.copy.assign(op, complete);
    if (!node.copy.extra()) return;
    bytes_ += node.copy.extra();
    node.large = true;
  }
  Node& at(uint32_t slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  size_t slots() const { return slots_; }
  bool grow();  // doubles the number of nodes that may be taken; false: it is at its limit

  // Visits every node that holds an operation, or held one. Call it when planner and workers have ended.
  template <class Visit>
  void each_taken(Visit visit) {
    for (size_t slot = 0; slot < made_; ++slot) visit(at(uint32_t(slot)));
  }

  // Workers. Gives back a chain of completed nodes, linked by `next`, from `first` to `last`.
  void give_back(Node* first, Node* last);

 private:
  static constexpr size_t kChunk = 1024;
  void put_free(Node& node);

  size_t slots_, bytes_limit_, limit_;
  size_t bytes_ = 0;  // memory of nodes in use beyond the usual
  size_t in_use_ = 0;
  std::vector<std::unique_ptr<Node[]>> chunks_;
  Node* free_ = nullptr;
  size_t made_ = 0;
  std::atomic<Node*> returned_{nullptr};
};

}  // namespace fsr
