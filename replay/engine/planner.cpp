// SPDX-License-Identifier: Apache-2.0
#include "engine/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/added_lookup.hpp"
#include "op_source.hpp"
#include "plan/name_views.hpp"
#include "util/check.hpp"
#include "util/debug_log.hpp"

namespace fsr {

Planner::Planner(RunState& run, OpSource& source)
    : run_(run),
      options_(run.options),
      per_scale_(1 / run.options.scale),
      linearizer_(source, run.options.from, run.options.to, run.options.order == Order::time),
      dependencies_(uint32_t(run.window.slots()), run.options.order == Order::time,
                    run.options.known ? *run.options.known : own_known_),
      batches_(run.workers.size()) {
  if (options_.timing == Timing::think) owners_.resize(run.window.slots());
}

void Planner::reclaim() {
  run_.planned.store(planned_, std::memory_order_relaxed);
  run_.window.reclaim([this](Node& node) {
    dependencies_.finished(node.slot);
    if (options_.timing != Timing::think) return;
    auto finish = [&](std::unordered_map<uint64_t, ThinkTimeBase>& anchors, uint64_t key) {
      auto found = anchors.find(key);
      if (found == anchors.end()) return;
      ThinkTimeBase& a = found->second;
      if (a.finished || a.slot != node.slot || a.generation != node.generation) return;
      a.finished = true;
      a.issued = node.issued - node.lag;
      a.ended = node.ended - node.lag;
    };
    finish(thread_anchors_, node.copy.op().thread);
    finish(handle_anchors_, node.copy.op().handle);
    if (owners_[node.slot].known) finish(process_anchors_, owners_[node.slot].process);
  });
}

bool Planner::step() {
  for (unsigned n = 0;; ++n) {
    if (run_.cancel.load(std::memory_order_relaxed) || (options_.stop && options_.stop->load(std::memory_order_relaxed))) {
      stopped_ = true;
      return true;
    }
    if (!op_) op_ = linearizer_.next();
    if (!op_) return true;
    if (n % 64 == 0) reclaim();
    size_t bytes = OpCopy::bytes(*op_, options_.record != nullptr);
    Node* node = run_.window.take(bytes);
    if (!node) {
      flush();
      bool starved = starving();
      reclaim();
      node = run_.window.take(bytes);
      // If a worker has nothing to do although the window is full, the window is too small.
      if (!node && starved && run_.window.grow()) node = run_.window.take(bytes);
      if (!node) {
        waited_ = true;
        return false;
      }
    }
    plan(*op_, *node);
    op_ = nullptr;
  }
}

bool Planner::starving() const {
  return std::any_of(run_.workers.begin(), run_.workers.end(), [](const auto& worker) { return worker->idle(); });
}

void Planner::end() {
  flush();
  run_.planned.store(planned_, std::memory_order_relaxed);
  run_.planned_all.store(true);
}

void Planner::add_unread(RunResult& r) {
  if (options_.live) return;  // the source would wait for more
  // The source is in order of effect, which may differ from the order of due times by about as much as operations overlap.
  constexpr unsigned kBeyond = 4096;  // the search ends after so many operations in a row that are due after the stop
  const int64_t stopped = run_.stopped_at.load() - run_.start;
  for (unsigned beyond = 0; beyond < kBeyond && (options_.stop == nullptr || options_.stop->load() < 2);) {
    if (!op_) op_ = linearizer_.next();
    if (!op_) return;
    const int64_t due = scaled(op_->start - options_.from) - options_.late;
    beyond = due < stopped ? 0 : beyond + 1;
    if (!leads_out(*op_)) run_.add_overdue(r, *op_, due);
    op_ = nullptr;
  }
}

// Says what `node` waits for. The operations have the line numbers of fstrace dump.
static void log_wait(const Node& node, const Node& before, bool for_end, bool anchor) {
  auto text = [](const Op& op) {
    return fmt::format("{} {} of object {} by thread {}", op.seq, op_name(op.kind), op.object, op.thread);
  };
  log_line(LogArea::plan, fmt::format("{} waits for the {} of {}{}", text(node.copy.op()), for_end ? "end" : "start",
                                      text(before.copy.op()), anchor ? ", from which its think time counts" : ""));
}

void Planner::link(Node& node, Node& before, bool for_end, bool anchor) {
  if (logs(LogArea::plan, LogLevel::debug)) log_wait(node, before, for_end, anchor);
  Edge& edge = node.add_edge();
  edge.anchor = anchor;
  node.pending.fetch_add(1, std::memory_order_relaxed);
  ++edges_;
  if ((for_end ? before.after_end : before.after_issue).push(edge)) return;
  // The awaited event has happened already.
  node.pending.fetch_sub(1, std::memory_order_relaxed);
  edge.satisfied = for_end ? before.ended : before.issued;
  edge.lag = before.lag;
  if (anchor) node.base = edge.satisfied - edge.lag;
}

// Returns the number by which the target deals the operation to one of its clients.
static uint64_t stream_of(const Op& op, ClientsBy by) {
  if (by == ClientsBy::any) return 0;
  const uint64_t machine = op.who ? uint64_t(op.who->client) << 32 : 0;
  if (by == ClientsBy::user) return (machine | op.uid) + 1;
  if (by == ClientsBy::process && op.who && op.who->pid > 0) return machine | uint32_t(op.who->pid);
  return op.thread;
}

void Planner::plan(const Op& op, Node& node) {
  // A lock request that waited in vain (ended by a signal or a deadlock) is sent without waiting, because nothing would end the
  // wait.
  Op tried = op;
  if (op.error && (op.kind == OpKind::setlk || op.kind == OpKind::flock)) tried.op_flags &= uint16_t(~kOpWait);
  run_.window.assign(node, tried, options_.record != nullptr);
  node.pending.store(1, std::memory_order_relaxed);
  node.worker = uint16_t((uint64_t(op.thread) * 0x9e3779b97f4a7c15ull >> 32) % run_.workers.size());
  node.request.stream = stream_of(op, options_.clients_by);
  node.listing_changes = listing_changes_.note(op);
  node.refused = !only_forgets(op) && leads_out(op);
  node.request.owner = &node;
  if (!is_added_lookup(op) && threads_.insert(op.thread)) ++streams_;
  if (op.object) touched_.insert(op.object);

  dependencies_.enter(op, node.slot, linearizer_.held_since(), linearizer_.holds(op.thread), waits_);
  if (options_.order != Order::strict)
    for (const Wait& wait : waits_) {
      FSR_CHECK(wait.slot != node.slot && wait.slot < run_.window.slots(), "a wait for slot " + std::to_string(wait.slot));
      link(node, run_.window.at(wait.slot), wait.for_end, false);
    }
  if (options_.order != Order::resource && has_previous_) {
    Node& previous = run_.window.at(previous_slot_);
    if (previous.generation == previous_generation_) link(node, previous, options_.order == Order::strict, false);
  }
  previous_slot_ = node.slot;
  previous_generation_ = node.generation;
  has_previous_ = true;
  schedule(op, node);

  ++planned_;
  added_lookups_ += is_added_lookup(op);
  if (node.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) hand_out(node);
}

void Planner::schedule(const Op& op, Node& node) {
  node.due = scaled(op.start - options_.from) - options_.late;
  if (waited_) {
    waited_ = false;
    if (options_.timing == Timing::original && run_.start && run_.clock.now() > run_.start + node.due) ++window_full_;
  }
  if (options_.timing != Timing::think) return;
  Owner& owner = owners_[node.slot];
  owner.known = op.who && op.who->pid > 0;
  if (owner.known) owner.process = uint64_t(op.who->client) << 32 | uint32_t(op.who->pid);
  if (ThinkTimeBase* anchor = think_time_base_of(op, node)) anchor_to(op, node, *anchor);
  if (op.kind == OpKind::release || op.kind == OpKind::releasedir)
    handle_anchors_.erase(op.handle);
  else if (op.handle)
    remember(handle_anchors_, op.handle, op, node);
  if (op.has(kOpKernel)) return;
  remember(thread_anchors_, op.thread, op, node);
  if (owner.known) remember(process_anchors_, owner.process, op, node);
}

// Returns the operation from which the think time of `op` counts. Null: it counts from the start of the schedule.
Planner::ThinkTimeBase* Planner::think_time_base_of(const Op& op, const Node& node) {
  auto in = [](std::unordered_map<uint64_t, ThinkTimeBase>& anchors, uint64_t key) {
    auto found = anchors.find(key);
    return found == anchors.end() ? nullptr : &found->second;
  };
  // Operations that the kernel issued by itself follow from operations on the open file, by any thread.
  if (op.has(kOpKernel) && op.handle)
    if (ThinkTimeBase* handle = in(handle_anchors_, op.handle)) return handle;
  if (ThinkTimeBase* thread = in(thread_anchors_, op.thread)) return thread;
  const Owner& owner = owners_[node.slot];
  if (!owner.known) return nullptr;
  // The first operation of a thread follows the last one of its process, or of the process that started it.
  if (ThinkTimeBase* process = in(process_anchors_, owner.process)) return process;
  return in(process_anchors_, uint64_t(op.who->client) << 32 | uint32_t(op.who->ppid));
}

void Planner::remember(std::unordered_map<uint64_t, ThinkTimeBase>& anchors, uint64_t key, const Op& op, const Node& node) {
  anchors[key] = {.slot = node.slot, .generation = node.generation, .start = op.start, .end = op.end()};
}

// Makes the think time count from the end of `anchor`, or from its start if the two overlapped.
void Planner::anchor_to(const Op& op, Node& node, ThinkTimeBase& anchor) {
  bool for_end = anchor.end <= op.start;
  node.due = scaled(std::max<int64_t>(0, op.start - (for_end ? anchor.end : anchor.start)));
  node.anchored = true;
  if (anchor.finished)
    node.base = for_end ? anchor.ended : anchor.issued;
  else
    link(node, run_.window.at(anchor.slot), for_end, true);
}

void Planner::hand_out(Node& node) {
  WorkerBatch& box = batches_[node.worker];
  // Worker::post() takes the newest first.
  node.next = box.first;
  box.first = &node;
  if (!box.last) box.last = &node;
  if (++box.count < kBatch && options_.timing == Timing::asap) return;
  run_.workers[node.worker]->post(box.first, box.last);
  box = {};
}

void Planner::flush() {
  for (size_t i = 0; i < batches_.size(); ++i) {
    WorkerBatch& box = batches_[i];
    if (box.first) run_.workers[i]->post(box.first, box.last);
    box = {};
  }
}

void Planner::merge_into(RunResult& r) {
  r.operations = planned_ - added_lookups_;
  r.streams = streams_;
  r.objects = touched_.size();
  r.edges = edges_;
  r.free_pairs = dependencies_.free_pairs();
  r.window_full = window_full_;
  r.stopped = stopped_;
}

}  // namespace fsr
