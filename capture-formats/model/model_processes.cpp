// SPDX-License-Identifier: Apache-2.0
// Processes of a run of a model: which begin, wait for each other and end.
#include <stdexcept>

#include "model/model_run.hpp"
#include "util/stop_signals.hpp"

namespace fsr {

// Returns its place in `processes`.
uint32_t ModelSource::Impl::add_process(uint32_t copy, uint32_t number, double wanted) {
  uint32_t slot = uint32_t(processes.size());
  if (spare.empty()) {
    processes.emplace_back();
  } else {
    slot = spare.back();
    spare.pop_back();
  }
  processes[slot] = std::make_unique<Process>();
  Process& p = *processes[slot];
  p.serial = ++serials;
  p.number = number;
  p.copy = copy;
  p.wanted = std::max<uint64_t>(1, uint64_t(std::llround(wanted)));
  ++copies[copy].left[number];
  return slot;
}

// Starts the roots of a class.
void ModelSource::Impl::begin_class(uint32_t copy, uint32_t number, int64_t offset) {
  const ProcessClass& c = model.classes[number];
  const double part = copies[copy].part;
  copies[copy].budget[number] += c.steps * part;
  copies[copy].to_start[number] += (c.processes - c.roots) * part;
  if (c.roots == 0) return;
  const auto n = std::max<uint64_t>(1, uint64_t(std::llround(c.roots * part)));
  std::vector<double> lengths;
  double sum = 0;
  for (uint64_t i = 0; i < n; ++i) {
    lengths.push_back(std::max<double>(1, double(c.length.step(draw_of(c.length).next()))));
    sum += lengths.back();
  }
  const double steps = c.steps * part * c.roots / c.processes;
  for (uint64_t i = 0; i < n; ++i) {
    const uint32_t slot = add_process(copy, number, lengths[i] * steps / sum);
    const double at = double(c.start.step((double(i) + 0.5) / double(n)));
    // Few values stand for many processes: spread these over the distance to the next value.
    const double next = double(c.start.step(std::min(1.0, (double(i) + 0.5) / double(n) + 1.0 / double(c.start.values.size()))));
    const double spread = n > c.start.values.size() ? (next - at) * random.unit() : 0;
    start(slot, offset + int64_t((at + spread) / 1e6 * double(busy)));
  }
}

void ModelSource::Impl::start_child(uint32_t process, uint32_t number, int64_t time) {
  const uint32_t copy = processes[process]->copy;
  // A share of a run may start one more than its share.
  if (copies[copy].to_start[number] <= -1) return;
  --copies[copy].to_start[number];
  const Quantiles& length = model.classes[number].length;
  const uint32_t child = add_process(copy, number, double(length.step(draw_of(length).next())));
  processes[child]->parent = process;
  processes[child]->parent_serial = processes[process]->serial;
  Children& its = processes[process]->children[number];
  ++its.running;
  ++its.started;
  if (model.classes[number].at_once == 1) its.ended = 0;  // one that it has not waited for: it will not do so later
  start(child, time);
}

// Starts the children that each process of the class starts once, and this one has not before its end.
void ModelSource::Impl::start_missing_children(uint32_t process, int64_t time) {
  for (uint32_t child : index.children(processes[process]->number))
    if (!processes[process]->children[child].started && copies[processes[process]->copy].to_start[child] >= 1)
      start_child(process, child, time);
}

// Tells the parent that a child has ended.
void ModelSource::Impl::child_ended(const Process& child, int64_t time) {
  if (!child.parent_serial || !processes[child.parent] || processes[child.parent]->serial != child.parent_serial) return;
  Process& parent = *processes[child.parent];
  Children& its = parent.children[child.number];
  --its.running;
  ++its.ended;
  if (parent.awaits != child.number) return;
  --its.ended;
  parent.awaits.reset();
  go_on(child.parent, time);
}

// Carries out a planned step that is no operation.
void ModelSource::Impl::process_step(uint32_t process, int64_t time) {
  Process& p = *processes[process];
  const Symbol& s = model.symbols[p.planned - 1];
  remember(p, p.planned);
  p.last_kind = step_kind(s);
  p.failed = 0;
  ++p.done;
  --copies[p.copy].budget[p.number];
  if (s.process_step() == ProcessStep::starts) {
    start_child(process, s.argument, time);
  } else if (Children& its = p.children[s.argument]; its.ended) {
    --its.ended;
  } else if (its.running) {
    p.awaits = s.argument;
    return;
  }
  go_on(process, time);
}

// Starts the processes of classes that lack steps, when all processes have ended. Steps lack if parents started fewer processes
// than in the load, or if processes ended early. False: no class lacks steps.
bool ModelSource::Impl::fill_up(int64_t time) {
  constexpr int kMostAtOnce = 100;  // of a class; others begin when these have ended
  bool lacked = false;
  for (uint32_t copy = 0; copy < copies.size(); ++copy)
    for (uint32_t number = 0; number < model.classes.size(); ++number) {
      const ProcessClass& c = model.classes[number];
      const double each = c.steps / std::max(1.0, c.processes);
      const double few = missing(c, copies[copy].part);
      double lacks = c.operations == 0 ? 0 : copies[copy].budget[number];
      for (int n = 0; n < kMostAtOnce && lacks > few; ++n, lacks -= each, lacked = true)
        start(add_process(copy, number, std::min(lacks, each)), time);
    }
  return lacked;
}

void ModelSource::Impl::go_on(uint32_t process, int64_t time) {
  Process& p = *processes[process];
  plan(p);
  const int64_t pause = p.planned == kEndOfProcess ? 0 : gap(p, step_kind(model.symbols[p.planned - 1]));
  events.push({std::min(kLast, time + pause), order++, process});
}

void ModelSource::Impl::end_by_signal() {
  if (stop_signals().load(std::memory_order_relaxed)) throw std::runtime_error("interrupted while operations were made up");
}

void ModelSource::Impl::begin_cycle() {
  for (uint32_t copy = 0; copy < copies.size(); ++copy) {
    end_by_signal();
    for (uint32_t number = 0; number < model.classes.size(); ++number) begin_class(copy, number, int64_t(cycle) * busy);
  }
  ++cycle;
}

void ModelSource::Impl::start(uint32_t process, int64_t time) {
  plan(*processes[process]);
  events.push({time, order++, process});
}

// Lets the next process of the class begin that waits for another one to end.
void ModelSource::Impl::wake(Copy& copy, uint32_t number, int64_t time) {
  std::deque<uint32_t>& waiting = copy.waiting[number];
  if (waiting.empty()) return;
  events.push({time, order++, waiting.front()});
  waiting.pop_front();
}

void ModelSource::Impl::finish(uint32_t process, int64_t time) {
  Process& p = *processes[process];
  Copy& copy = copies[p.copy];
  copy.owed[p.number] += double(p.wanted) - double(p.done);
  --copy.left[p.number];
  if (!p.parent_serial) {
    --copy.running[p.number];
    wake(copy, p.number, time);
  }
  child_ended(p, time);
  if (p.done == 0) copy.budget[p.number] = std::min(copy.budget[p.number], 0.0);  // more of them would do nothing either
  processes[process].reset();
  spare.push_back(process);
}

// Does without a process, because others of its class did its operations.
void ModelSource::Impl::drop(uint32_t process, int64_t time) {
  Process& p = *processes[process];
  Copy& copy = copies[p.copy];
  copy.owed[p.number] += double(p.wanted);
  --copy.left[p.number];
  wake(copy, p.number, time);
  processes[process].reset();
  spare.push_back(process);
}

}  // namespace fsr
