// SPDX-License-Identifier: Apache-2.0
// Processes of a run of a model: which begin, wait for each other and end.
#include <stdexcept>

#include "model/model_run.hpp"
#include "util/check.hpp"
#include "util/stop_signals.hpp"

namespace fsr {

// Returns its place in `processes`.
uint32_t ModelSource::Impl::add_process(uint32_t copy, uint32_t number, double wanted, const Course* course) {
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
  p.course = course;
  p.home = copies[copy].home;
  ++copies[copy].left[number];
  return slot;
}

// Gives the next run its directory. Each run of courses has a new one, because it must find there what the trace found.
void ModelSource::Impl::begin_home(Copy& copy) {
  if (!of_courses() && copy.home) return copy.home->realiser.begin_run();
  const bool own = of_courses() && cycles > 1;
  const double part = cycle + 1 == cycles ? copy.part * (runs - double(cycle)) / of_run : copy.part;
  const ObjectId root = own ? world.tree.add(kDirectoryType, copy.root, world.tree.new_name(), false) : copy.root;
  copy.home =
      std::make_shared<Home>(Home{Realiser(model, world, root, random.next()), {}, double(model.operations) * part, part >= 1});
}

// Starts the roots that have courses. A part of a run is its begin, because what comes later needs what was before.
void ModelSource::Impl::begin_courses(uint32_t copy, int64_t offset) {
  Home& home = *copies[copy].home;
  home.children.resize(model.classes.size());
  for (uint32_t number = 0; number < model.classes.size(); ++number)
    for (const Course& course : model.classes[number].courses) {
      if (!course.root) {
        home.children[number].push_back(&course);
        continue;
      }
      const uint32_t slot = add_process(copy, number, double(course.steps.size()), &course);
      processes[slot]->begin = offset;
      start(slot, offset + ns_of(course.start));
    }
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
  uint32_t child = 0;
  if (processes[process]->course) {
    std::deque<const Course*>& courses = processes[process]->home->children[number];
    if (courses.empty()) return;
    child = add_process(copy, number, double(courses.front()->steps.size()), courses.front());
    courses.pop_front();
  } else {
    // A share of a run may start one more than its share.
    if (copies[copy].to_start[number] <= -1) return;
    --copies[copy].to_start[number];
    const Quantiles& length = model.classes[number].length;
    child = add_process(copy, number, double(length.step(draw_of(length).next())));
  }
  Process& parent = *processes[process];
  Process& p = *processes[child];
  p.home = parent.home;
  p.begin = parent.begin;
  p.parent = process;
  p.parent_serial = parent.serial;
  p.who.ppid = parent.who.pid;
  p.actor.near = parent.actor.near;
  if (model.inherits) p.home->realiser.inherit(parent.actor, p.actor);
  Children& its = parent.children[number];
  ++its.running;
  ++its.started;
  if (model.classes[number].at_once == 1) its.ended = 0;  // one that it has not waited for: it will not do so later
  start(child, time);
}

// Starts the children that each process of the class starts once, and this one has not before its end.
void ModelSource::Impl::start_missing_children(uint32_t process, int64_t time) {
  if (processes[process]->course) return;
  for (uint32_t child : index.children(processes[process]->number))
    if (!processes[process]->children[child].started && copies[processes[process]->copy].to_start[child] >= 1)
      start_child(process, child, time);
}

// Tells the parent that a child has ended.
void ModelSource::Impl::child_ended(const Process& child, int64_t time) {
  if (!child.parent_serial || !processes[child.parent] || processes[child.parent]->serial != child.parent_serial) return;
  Process& parent = *processes[child.parent];
  Children& its = parent.children[child.number];
  FSR_CHECK(its.running > 0, "a child ends that does not run");
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
  if (form_of(model) == ModelForm::courses) return false;  // each has been done
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
  if (const int64_t later = p.planned == kEndOfProcess ? 0 : after_pause(p)) {
    time = std::max(time, later);
  } else if (p.planned != kEndOfProcess) {
    time += gap(p, step_kind(model.symbols[p.planned - 1]));
  }
  events.push({std::min(kLast, time), order++, process});
}

void ModelSource::Impl::end_by_signal() {
  if (stop_signals().load(std::memory_order_relaxed)) throw std::runtime_error("interrupted while operations were made up");
}

void ModelSource::Impl::begin_cycle() {
  for (uint32_t copy = 0; copy < copies.size(); ++copy) {
    end_by_signal();
    begin_home(copies[copy]);
    if (form_of(model) == ModelForm::courses) {
      begin_courses(copy, int64_t(cycle) * busy);
      continue;
    }
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
