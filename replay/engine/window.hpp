// SPDX-License-Identifier: Apache-2.0
// The unfinished operations of a run: a bounded number of nodes, each with its operation, what it waits for and who waits for it.
//
// The planner takes nodes and links them to their predecessors; workers run and complete them and give them back. Only unfinished
// operations take nodes, so one that never ends holds up nothing but what depends on it.
//
// Threads: take(), reclaim() and node setup by the planner only; a node belongs to its worker from the moment that nothing is
// pending; links between the two are the atomics of Node. No locks.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/op_copy.hpp"
#include "base/target.hpp"
#include "engine/recording.hpp"

namespace fsr {

struct Node;

// "owner waits for the node in whose list this stands". Stored in the owner, so that making one allocates nothing.
struct Edge {
  Edge* next = nullptr;
  Node* owner = nullptr;
  int64_t satisfied = INT64_MAX;  // when; INT64_MAX = not yet
  int64_t lag = 0;                // how much of that was the replayer's doing, as Node::lag
  bool anchor = false;            // the owner's think time counts from then
  // The other one's, once it let the owner go; null: it had done so before there was anything to wait for.
  OpKind kind = OpKind::null;
  ThreadId thread = 0;
};

class EdgeList {
 public:
  void reset() { head_.store(nullptr, std::memory_order_relaxed); }
  // False: closed already, what it would wait for has happened.
  bool push(Edge& edge) {
    Edge* head = head_.load(std::memory_order_acquire);
    do {
      if (head == &kClosed) return false;
      edge.next = head;
    } while (!head_.compare_exchange_weak(head, &edge, std::memory_order_acq_rel, std::memory_order_acquire));
    return true;
  }
  // All edges, in the order they were pushed; none, when it was closed before.
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

// The first cache line is all that planner and worker look at when a node is taken, linked to, or given back.
struct alignas(64) Node {
  std::atomic<uint32_t> pending{0};  // waits, and one while the planner is at it
  uint32_t slot = 0;
  uint32_t generation = 0;  // the planner's: of the slot
  uint16_t worker = 0;
  bool anchored = false;
  bool refused : 1 = false;  // must not reach a target
  bool large : 1 = false;    // holds memory that an ordinary operation doesn't need
  EdgeList after_issue, after_end;
  Node* next = nullptr;  // of whatever list it is in

  // Of the schedule, ns. due is relative to the start of the schedule; with an anchor it is a think time after `base`.
  int64_t due = 0;
  int64_t base = 0;   // clock: when the anchor would have happened without its lag
  int64_t ready = 0;  // clock: its predecessors were done; the planner's part until the worker adds the edges'

  OpCopy copy;
  int64_t issued = -1;  // clock; -1: not yet
  int64_t lag = 0;      // ns by which it was issued later than if the replayer had never been late; not known with Timing::asap
  int64_t room = 0;     // Worker::no_room_ when it came to the worker
  int64_t ended = -1;   // clock; -1: not yet
  Request request;
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
  // Who waits for this one's end was written by another core: has it fetched to this one meanwhile. A guess, right for those that
  // wait by one of their first edges.
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
  // Of `slots`, `first` may be taken until grow() is called: few nodes in quick rotation stay in the cores' caches.
  Window(size_t slots, size_t bytes, size_t first);

  // Planner. A free node, or null while the window is full; `bytes` is what its operation points to.
  Node* take(size_t bytes);
  // Planner. Returns what workers gave back to the free nodes, calling `each` for every one of them. False: nothing came.
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
  void assign(Node& node, const Op& op, bool taught) {
    node.copy.assign(op, taught);
    if (!node.copy.extra()) return;
    bytes_ += node.copy.extra();
    node.large = true;
  }
  Node& at(uint32_t slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  size_t slots() const { return slots_; }
  bool grow();  // false: all slots may be taken already

  // When planner and workers have ended: every node that holds an operation, or held one.
  template <class Visit>
  void each_taken(Visit visit) {
    for (size_t slot = 0; slot < made_; ++slot) visit(at(uint32_t(slot)));
  }

  // Workers. A chain of completed nodes, linked by `next`, from `first` to `last`.
  void give_back(Node* first, Node* last);

 private:
  static constexpr size_t kChunk = 1024;
  void put_free(Node& node);

  size_t slots_, bytes_limit_, limit_;
  size_t bytes_ = 0;  // storage of nodes in use beyond the usual
  size_t in_use_ = 0;
  std::vector<std::unique_ptr<Node[]>> chunks_;
  Node* free_ = nullptr;
  size_t made_ = 0;
  std::atomic<Node*> returned_{nullptr};
};

}  // namespace fsr
