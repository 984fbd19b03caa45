// SPDX-License-Identifier: Apache-2.0
#include "model/model_source.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>

#include "model/model_index.hpp"
#include "model/realiser.hpp"
#include "model/urn.hpp"
#include "trace/live_state.hpp"
#include "trace/model.hpp"

namespace fsr {

namespace {

constexpr size_t kBatch = 256;
constexpr int kMostTries = 16;      // further symbols of a context that are tried before a step is left out
constexpr int kLost = 2;            // steps in a row that can't be made up before a process begins another pattern
constexpr int kMostFailed = 64;     // steps in a row that can't be made up before a process ends
constexpr double kMissing = 0.005;  // share of a class's operations that may be missing at the end
constexpr int32_t kFirstProcess = 1000;
constexpr int64_t kShortest = 1'000'000;  // ns of a run, so that a load of one operation can repeat

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

}  // namespace

struct ModelSource::Impl {
  // One run of the load in a directory of its own.
  struct Copy {
    double part = 1;  // of the processes
    Realiser realiser;
    Copy(double p, Realiser r, size_t classes)
        : part(p),
          realiser(std::move(r)),
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
  uint64_t order = 0;
  uint64_t serials = 0;
  ThreadId threads = 0;
  const uint64_t cycles;  // runs of the load, one after the other
  const int64_t span;     // ns of each
  const double of_run;    // part of the load that each has, about 1
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
        cycles(o.duration ? uint64_t(std::max(1.0, std::round(double(o.duration) / double(whole_span())))) : 1),
        span(o.duration ? o.duration / int64_t(cycles) : whole_span()),
        of_run(double(span) / double(whole_span())) {
    const auto whole = size_t(std::ceil(options.load - 1e-9));
    for (size_t i = 0; i < whole; ++i) {
      const ObjectId root = whole == 1 ? kRootObject : world.tree.add(kDirectoryType, kRootObject, world.tree.new_name(), false);
      copies.emplace_back(of_run * std::min(1.0, options.load - double(i)), Realiser(model, world, root, random.next()),
                          model.classes.size());
    }
    counts.wanted = uint64_t(std::llround(double(model.operations) * options.load * of_run * double(cycles)));
  }
  int64_t whole_span() const { return std::max(kShortest, model.span); }

  EvenDraw& draw_of(const Quantiles& q) { return draws.try_emplace(&q, EvenDraw(random.unit())).first->second; }
  uint64_t time_from(const Quantiles& q) { return q.between(draw_of(q).next()); }

  void begin_cycle();
  void begin_class(uint32_t copy, uint32_t number, int64_t offset);
  uint32_t add_process(uint32_t copy, uint32_t number, double wanted);
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
  bool lists(SymbolId symbol) const;
  int64_t may_list(const Process& p);
  uint32_t phase(const Process& p) const;
  void plan(Process& p);
  SymbolId any_symbol(uint32_t phase);
  bool step(Process& p, Op& op, Arena& arena, bool* ends);
  void run(uint32_t number, int64_t time, OpBatch& batch);
  bool next(OpBatch& batch);
};

uint32_t ModelSource::Impl::phase(const Process& p) const {
  const uint32_t phases = model.classes[p.number].phases;
  return p.number * kMostPhases + uint32_t(std::min<uint64_t>(p.done * phases / std::max<uint64_t>(1, p.wanted), phases - 1));
}

// How many operations a process may end before or after its number of them. If a class has many short processes, each ends where
// its kind does, and their number is adjusted; the last ones end when the class has done its operations. The processes of other
// classes keep to their numbers.
constexpr double kMany = 8, kShort = 400;  // processes; operations of each
static bool are_many(const ProcessClass& c) { return c.processes >= kMany && c.steps <= kShort * c.processes; }
// Steps of a class that may be missing or too many at the end.
static double missing(const ProcessClass& c, double part) { return std::max(1.0, c.steps * part * kMissing); }
static bool are_roots(const ProcessClass& c) { return c.roots >= c.processes; }

struct Ends {
  uint64_t least = 0, most = 0;
};
static Ends ends_of(const ProcessClass& c, uint64_t wanted) {
  if (are_many(c)) return {0, 3 * wanted + 16};
  return {wanted - wanted / 50, wanted + wanted / 50 + 16};
}

void ModelSource::Impl::plan(Process& p) {
  p.planned = kEndOfProcess;
  p.urn = nullptr;
  const ModelContext* context = index.longest(phase(p), p.history);
  if (!context) return;
  Copy& copy = copies[p.copy];
  Urn& all = copy.urns.try_emplace(context, *context, copy.part / model.runs, random).first->second;
  const double part = 1 / (model.classes[p.number].processes * copy.part);
  auto own = p.urns.find(context);
  if (own == p.urns.end() && all.divides(part)) own = p.urns.emplace(context, Urn(all, part)).first;
  p.urn = own == p.urns.end() ? &all : &own->second;
  p.planned = p.urn->draw(random);
}

// Returns a symbol of the phase, as often as it occurs there.
SymbolId ModelSource::Impl::any_symbol(uint32_t phase) {
  std::vector<std::pair<SymbolId, uint64_t>>& sums = phase_symbols[phase];  // each with the sum of all up to it
  if (sums.empty()) {
    uint64_t sum = 0;
    for (const ModelContext& c : model.contexts)
      if (c.phase == phase)
        for (const auto& [symbol, n] : c.next)
          if (symbol != kEndOfProcess && !model.symbols[symbol - 1].is_process_step()) sums.emplace_back(symbol, sum += n);
    if (sums.empty()) sums.emplace_back(kEndOfProcess, 1);
  }
  const uint64_t at = random.below(sums.back().second);
  return std::upper_bound(sums.begin(), sums.end(), at, [](uint64_t a, const auto& s) { return a < s.second; })->first;
}

static void remember(Process& p, SymbolId symbol) {
  p.history.push_back(symbol);
  if (p.history.size() > kMostHistory) p.history.erase(p.history.begin());
}

bool ModelSource::Impl::step(Process& p, Op& op, Arena& arena, bool* ends) {
  const uint64_t least = ends_of(model.classes[p.number], p.wanted).least;
  const Op blank = op;
  Realiser& realiser = copies[p.copy].realiser;
  auto attempt = [&](SymbolId symbol, bool any_size = false) {
    if (symbol == kEndOfProcess) return *ends = p.done >= least;
    if (model.symbols[symbol - 1].is_process_step()) return false;
    if (lists(symbol) && may_list(p) > blank.start) return false;
    op = blank;
    if (!realiser.realise(model.symbols[symbol - 1], p.actor, op, arena, any_size)) {
      ++counts.left_out_kinds[size_t(model.symbols[symbol - 1].kind)];
      op = blank;
      return false;
    }
    remember(p, symbol);
    return true;
  };
  if (attempt(p.planned)) return true;
  for (SymbolId twin : index.twins(p.planned))
    if (twin != p.planned && attempt(twin)) return true;
  if (!p.urn) return false;
  // Another symbol of the same context may be possible, and takes the place of the planned one, which stays for later.
  std::vector<SymbolId> refused{p.planned};
  for (int tries = 0; tries < kMostTries; ++tries) {
    const std::optional<SymbolId> other = p.urn->draw_other(refused, random);
    if (!other) break;
    if (attempt(*other)) {
      p.urn->put_back(p.planned);
      return true;
    }
    p.urn->put_back(*other);
    refused.push_back(*other);
  }
  if (attempt(p.planned, true)) return true;
  if (p.failed < kLost) return false;
  // The process has not opened or met what its steps are about, so a step that is possible begins another pattern.
  p.history.clear();
  for (int tries = 0; tries < kMostTries; ++tries)
    if (const SymbolId symbol = any_symbol(phase(p)); symbol != kEndOfProcess && attempt(symbol, true)) return true;
  return false;
}

bool ModelSource::Impl::lists(SymbolId symbol) const {
  if (symbol == kEndOfProcess) return false;
  const OpKind kind = model.symbols[symbol - 1].kind;
  return kind == OpKind::readdir || kind == OpKind::readdirplus;
}

// Returns when the process may list the directories that it has open: once their changes in flight have ended. Then the names in
// the listing are certain.
int64_t ModelSource::Impl::may_list(const Process& p) {
  const Copy& copy = copies[p.copy];
  int64_t time = INT64_MIN;
  for (ObjectId directory : copy.realiser.open_directories(p.actor))
    if (auto changing = copy.changing.find(directory); changing != copy.changing.end()) time = std::max(time, changing->second);
  return time;
}

int64_t ModelSource::Impl::gap(const Process& p, uint32_t kind) {
  if (kind == kWaitsKind) return 0;
  auto found = model.gaps.find({phase(p), p.last_kind, kind});
  if (found == model.gaps.end()) found = model.gaps.find({phase(p), kAnyKind, kAnyKind});
  if (found == model.gaps.end()) return 0;
  const Gaps& gaps = found->second;
  double& drawn = copies[p.copy].gaps[&gaps];
  const bool beyond =
      gaps.count && ++drawn > std::max(1.0, double(gaps.count) * copies[p.copy].part / model.runs * double(cycle));
  const double at = draw_of(gaps.times).next();
  return int64_t(gaps.times.between(beyond ? at / 2 : at));
}

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
    start(slot, offset + int64_t((at + spread) / 1e6 * double(span)));
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
  bool lacked = false;
  for (uint32_t copy = 0; copy < copies.size(); ++copy)
    for (uint32_t number = 0; number < model.classes.size(); ++number) {
      const ProcessClass& c = model.classes[number];
      const double each = c.steps / std::max(1.0, c.processes);
      const double few = missing(c, copies[copy].part);
      double lacks = c.operations == 0 ? 0 : copies[copy].budget[number];
      for (; lacks > few; lacks -= each, lacked = true) start(add_process(copy, number, std::min(lacks, each)), time);
    }
  return lacked;
}

void ModelSource::Impl::go_on(uint32_t process, int64_t time) {
  Process& p = *processes[process];
  plan(p);
  const int64_t pause = p.planned == kEndOfProcess ? 0 : gap(p, step_kind(model.symbols[p.planned - 1]));
  events.push({time + pause, order++, process});
}

void ModelSource::Impl::begin_cycle() {
  for (uint32_t copy = 0; copy < copies.size(); ++copy)
    for (uint32_t number = 0; number < model.classes.size(); ++number) begin_class(copy, number, int64_t(cycle) * span);
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

void ModelSource::Impl::run(uint32_t number, int64_t time, OpBatch& batch) {
  Process& p = *processes[number];
  Copy& copy = copies[p.copy];
  const ProcessClass& c = model.classes[p.number];
  if (!p.who.id) {
    if (!p.parent_serial) {
      if (are_roots(c) && are_many(c) && copy.owed[p.number] <= -0.5 * double(p.wanted)) return drop(number, time);
      if (copy.running[p.number] >= c.at_once) return copy.waiting[p.number].push_back(number);
      ++copy.running[p.number];
    }
    // The process makes up for what earlier ones did too much or too little.
    const double fair = are_many(c) ? 0 : std::clamp(copy.owed[p.number], -0.3 * double(p.wanted), 0.3 * double(p.wanted));
    copy.owed[p.number] -= std::trunc(fair);
    p.wanted = uint64_t(double(p.wanted) + std::trunc(fair));
    p.who.id = p.actor.thread = ++threads;
    p.who.client = p.copy;
    p.who.tid = p.who.pid = int32_t(kFirstProcess + threads);
    const bool child = p.parent_serial && processes[p.parent] && processes[p.parent]->serial == p.parent_serial;
    p.who.ppid = child ? processes[p.parent]->who.pid : 1;
    p.who.start_ticks = uint64_t(std::max<int64_t>(0, time) / 10'000'000);
    p.who.command = c.command;
  }
  auto who = [&] {
    ThreadInfo* info = batch.arena.make<ThreadInfo>();
    *info = p.who;
    info->command = batch.arena.copy(p.who.command);
    return info;
  };
  auto duration = [&](const Op& op) {
    auto found = model.durations.find({uint32_t(op.kind), op.error != 0});
    return found == model.durations.end() ? 0 : int64_t(time_from(found->second));
  };
  Op op;
  op.start = time;
  op.thread = p.who.id;
  double& budget = copy.budget[p.number];
  bool ends = p.done >= ends_of(c, p.wanted).most || p.failed >= kMostFailed;
  ends |= budget <= double(p.actor.handles.size());  // whose closing counts, too
  if (!ends && p.planned != kEndOfProcess && model.symbols[p.planned - 1].is_process_step()) return process_step(number, time);
  if (!ends && lists(p.planned))
    if (const int64_t later = may_list(p); later > time) return events.push({later, order++, number});
  if (!ends && !step(p, op, batch.arena, &ends)) {
    // The process goes on as if the operation had been done, so that what it does next still fits what it did before.
    ++counts.left_out;
    ++p.failed;
    if (p.planned == kEndOfProcess)
      p.history = {kEndOfProcess};
    else
      remember(p, p.planned);
  } else if (!ends) {
    p.failed = 0;
    p.last_kind = uint32_t(op.kind);
    op.who = who();
    op.duration = duration(op);
    if (!op.error && changes_names(op.kind)) {
      for (ObjectId directory : {op.parent, op.parent2})
        if (int64_t& until = copy.changing[directory]; until < op.end()) until = op.end();
      world.tree.node(op.object).busy = op.end();
    }
    ++p.done;
    --budget;
    ++counts.operations;
    batch.ops.push_back(op);
  }
  if (ends) {
    Op close;
    close.start = time;
    close.thread = p.who.id;
    if (p.done) start_missing_children(number, time);
    if (!copy.realiser.close_one(p.actor, close)) return finish(number, time);
    close.who = who();
    close.duration = duration(close);
    ++p.done;
    --budget;
    ++counts.closed;
    ++counts.operations;
    batch.ops.push_back(close);
    p.failed = kMostFailed;
    return events.push({close.end(), order++, number});
  }
  go_on(number, p.failed ? time : op.end());
}

bool ModelSource::Impl::next(OpBatch& batch) {
  batch.clear();
  while (batch.ops.size() < kBatch) {
    if (cycle < cycles && (events.empty() || events.top().time >= int64_t(cycle) * span)) {
      begin_cycle();
      continue;
    }
    if (events.empty() && !fill_up(now)) break;
    const Event event = events.top();
    events.pop();
    now = event.time;
    run(event.process, event.time, batch);
  }
  return !batch.ops.empty();
}

ModelSource::ModelSource(const LoadModel& model, const ModelOptions& options) : impl_(std::make_unique<Impl>(model, options)) {}
ModelSource::~ModelSource() = default;

bool ModelSource::next(OpBatch& batch) { return impl_->next(batch); }
const ModelCounts& ModelSource::counts() const { return impl_->counts; }
int64_t ModelSource::length() const { return impl_->span * int64_t(impl_->cycles); }

LiveState ModelSource::before() const {
  LiveState state;
  const ModelTree& tree = impl_->world.tree;
  for (const InitialObject& o : tree.initial()) {
    const std::string name = ModelTree::text(o.name);
    const uint32_t type = tree.node(o.id).type ? tree.node(o.id).type : kRegularType;
    Attr attr{.valid = kAttrMode, .mode = initial_mode(type)};
    if (type == kRegularType) {
      attr.valid |= kAttrSize;
      attr.size = o.size;
    }
    Op op;
    op.kind = OpKind::lookup;
    op.parent = o.parent;
    op.name = name;
    op.object = o.id;
    op.attr = &attr;
    state.apply(op);
    if (type != kSymlinkType) continue;
    op = {};
    op.kind = OpKind::readlink;
    op.object = o.id;
    op.data = kModelTarget;
    state.apply(op);
  }
  return state;
}

TraceHeader ModelSource::header() const {
  const ModelOptions& o = impl_->options;
  TraceHeader h;
  const uint64_t facts[] = {o.seed, uint64_t(std::llround(o.load * 1e6)), uint64_t(o.duration), impl_->model.operations,
                            uint64_t(impl_->model.span)};
  const XXH128_hash_t id = XXH3_128bits(facts, sizeof facts);
  h.id = fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", id.high64 >> 32, (id.high64 >> 16) & 0xffff, id.high64 & 0xffff,
                     id.low64 >> 48, id.low64 & 0xffffffffffff);
  h.clock_unit = 1;
  h.program = "model " FSR_VERSION;
  h.visibility = "every call";
  h.edits = {fmt::format("made up from a model with seed {}, {:g}x", o.seed, o.load)};
  return h;
}

}  // namespace fsr
