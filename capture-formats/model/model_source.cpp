// SPDX-License-Identifier: Apache-2.0
#include "model/model_source.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "model/model_run.hpp"
#include "trace/live_state.hpp"
#include "trace/model.hpp"

namespace fsr {

namespace {

constexpr size_t kBatch = 256;            // operations
constexpr size_t kBatchEntries = 65'536;  // of listings in a batch, after which no further operation is made
constexpr int kMostTries = 16;            // further symbols of a context that are tried before a step is left out
constexpr int kLost = 2;                  // steps in a row that can't be made up before a process begins another pattern
constexpr int kPatience = 8;              // such steps of a short process, beside as many as it has
constexpr int kMostFailed = 64;           // steps in a row that can't be made up before a process ends
constexpr int32_t kFirstProcess = 1000;
constexpr double kShareOfPace = 0.75;  // to which operations, too, are long where pauses are long

}  // namespace

uint32_t ModelSource::Impl::phase(const Process& p) const {
  const uint32_t phases = model.classes[p.number].phases;
  return p.number * kMostPhases + uint32_t(std::min<uint64_t>(p.done * phases / std::max<uint64_t>(1, p.wanted), phases - 1));
}

void ModelSource::Impl::plan(Process& p) {
  p.planned = kEndOfProcess;
  p.urn = nullptr;
  p.waited = 0;
  if (p.course) {
    if (p.at < p.course->steps.size()) p.planned = p.course->steps[p.at++];
    return;
  }
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

// True: the planned step, or the process that it starts, uses what this process has open, which is nothing yet.
bool ModelSource::Impl::lacks_open(const Process& p) const {
  if (p.course || p.planned == kEndOfProcess || !p.actor.handles.empty()) return false;
  const Symbol& s = model.symbols[p.planned - 1];
  const bool uses = step_kind(s) == kStartsKind ? index.inherits_files(s.argument) : s.uses_own_handle();
  return uses && index.opens(p.number, s.type == kDirectoryType);
}

bool ModelSource::Impl::step(Process& p, Op& op, Arena& arena, bool* ends) {
  const uint64_t least = ends_of(model.classes[p.number], p.wanted).least;
  const Op blank = op;
  Realiser& realiser = p.home->realiser;
  auto attempt = [&](SymbolId symbol, bool any_size = false) {
    if (symbol == kEndOfProcess) return *ends = p.course || p.done >= least;
    if (model.symbols[symbol - 1].is_process_step()) return false;
    if (may_do(p, symbol) > blank.start) return false;
    op = blank;
    if (!realiser.realise(model.symbols[symbol - 1], p.actor, op, arena, any_size)) {
      op = blank;
      return false;
    }
    remember(p, symbol);
    return true;
  };
  if (attempt(p.planned)) return true;
  for (SymbolId twin : index.twins(p.planned))
    if (twin != p.planned && attempt(twin)) return true;
  if (may_wait(p, blank.start)) return false;
  if (p.course) return attempt(p.planned, true);
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
  // A directory that is missing is made, because further steps need it.
  if (p.planned != kEndOfProcess)
    if (const Symbol& s = model.symbols[p.planned - 1]; s.object.relation == Relation::hot && s.type == kDirectoryType)
      for (SymbolId symbol : index.makers(p.number, s.object.bucket))
        if (attempt(symbol, true)) {
          p.urn->put_back(p.planned);
          return true;
        }
  // A process that opens its files at its begin, and then uses them for long, has opens that are hardly ever drawn.
  if (lacks_open(p))
    for (SymbolId symbol : index.open_symbols(p.number, model.symbols[p.planned - 1].type == kDirectoryType))
      if (attempt(symbol, true)) {
        p.urn->put_back(p.planned);
        return true;
      }
  if (p.failed < kLost) return false;
  // The process has not opened or met what its steps are about, so a step that is possible begins another pattern.
  p.history.clear();
  for (int tries = 0; tries < kMostTries; ++tries)
    if (const SymbolId symbol = any_symbol(phase(p)); symbol != kEndOfProcess && attempt(symbol, true)) return true;
  return false;
}

// True: the planned step can't be made, but others may still make what it needs. Without a course, that is a lock.
bool ModelSource::Impl::may_wait(Process& p, int64_t time) {
  if (p.planned == kEndOfProcess || p.waited >= kMostWaits || events.empty()) return false;
  const Symbol& s = model.symbols[p.planned - 1];
  Realiser& realiser = p.home->realiser;
  return p.course ? realiser.may_come(s, p.actor, time) : realiser.locks_differ(s, p.actor);
}

bool ModelSource::Impl::lists(SymbolId symbol) const {
  if (symbol == kEndOfProcess) return false;
  return is_listing(model.symbols[symbol - 1].kind);
}

// Returns when the process may list the directories that it has open: once their changes in flight have ended. Then the names in
// the listing are certain.
int64_t ModelSource::Impl::may_list(const Process& p) {
  const Copy& copy = copies[p.copy];
  int64_t time = INT64_MIN;
  for (ObjectId directory : p.home->realiser.open_directories(p.actor))
    if (auto changing = copy.changing.find(directory); changing != copy.changing.end()) time = std::max(time, changing->second);
  return time;
}

// Lets the processes try again that wait for a lock to come or go.
void ModelSource::Impl::retry_locks(int64_t time) {
  for (uint32_t number : std::exchange(waits_for_lock, {})) events.push({std::min(kLast, time), order++, number});
}

// Returns when the process may do the step. 0: now.
int64_t ModelSource::Impl::may_do(Process& p, SymbolId symbol) {
  if (symbol == kEndOfProcess) return 0;
  return lists(symbol) ? may_list(p) : p.home->realiser.ready_at(model.symbols[symbol - 1], p.actor);
}

// Returns when the pause before the planned step ends, if it is a long one of a course. Otherwise 0.
int64_t ModelSource::Impl::after_pause(const Process& p) const {
  if (!p.course || p.at == 0) return 0;
  const auto& pauses = p.course->pauses;
  const auto at = std::lower_bound(pauses.begin(), pauses.end(), std::pair(uint32_t(p.at - 1), uint64_t(0)));
  return at != pauses.end() && at->first == p.at - 1 ? p.begin + ns_of(at->second) : 0;
}

std::array<double, kPaces> ModelSource::Impl::shares_of_paces() const {
  std::array<double, kPaces> shares{};
  double sum = 0;
  for (const ProcessClass& c : model.classes)
    for (const Course& course : c.courses)
      for (uint8_t pace : course.pace) ++shares[pace], ++sum;
  for (double& share : shares) share /= sum;
  return shares;
}

// Returns where in the distribution the next time of a process is. Where the pace of a course is high, times are long. `share`:
// of the times of which that is true.
double ModelSource::Impl::draw_time(const Quantiles& q, const Process& p, double share) {
  EvenDraw& draw = draw_of(q);
  if (!p.course || p.course->pace.empty() || random.unit() >= share) return draw.next();
  constexpr double kSpread = 0.2;  // of times within a stretch
  const double wanted = p.course->pace[std::max<size_t>(1, p.at) - 1] + (2 * random.unit() - 1) * kSpread * kPaces;
  double at = 0;  // part of such values that are lower, so that all times come as often as they should
  for (uint32_t pace = 0; pace < kPaces; ++pace)
    at += paces[pace] * std::clamp(((wanted - pace) / kPaces / kSpread + 1) / 2, 0.0, 1.0);
  return draw.next(at);
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
  const double at = draw_time(gaps.times, p);
  return int64_t(std::min(kLongest, gaps.times.between(beyond ? at / 2 : at)));
}

void ModelSource::Impl::run(uint32_t number, int64_t time, OpBatch& batch) {
  Process& p = *processes[number];
  Copy& copy = copies[p.copy];
  const ProcessClass& c = model.classes[p.number];
  if (!p.who.id) {
    if (!p.parent_serial) {
      if (!p.course && are_roots(c) && are_many(c) && copy.owed[p.number] <= -0.5 * double(p.wanted)) return drop(number, time);
      if (!p.course && copy.running[p.number] >= c.at_once) return copy.waiting[p.number].push_back(number);
      ++copy.running[p.number];
    }
    // The process makes up for what earlier ones did too much or too little.
    const double fair =
        p.course || are_many(c) ? 0 : std::clamp(copy.owed[p.number], -0.3 * double(p.wanted), 0.3 * double(p.wanted));
    copy.owed[p.number] -= std::trunc(fair);
    p.wanted = uint64_t(double(p.wanted) + std::trunc(fair));
    p.who.id = p.actor.thread = ++threads;
    for (const bool directories : {false, true}) {
      p.actor.own_open_before[directories] =
          !(p.parent_serial && model.inherits ? index.any_opens(directories) : index.opens(p.number, directories));
      p.actor.all_open_before[directories] = !index.any_opens(directories);
    }
    p.who.client = p.copy;
    p.who.tid = p.who.pid = int32_t(kFirstProcess + threads);
    if (!p.parent_serial) p.who.ppid = 1;
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
    return found == model.durations.end()
               ? 0
               : int64_t(std::min(kLongest, found->second.between(draw_time(found->second, p, kShareOfPace))));
  };
  Op op;
  op.start = time;
  op.thread = p.who.id;
  double& budget = copy.budget[p.number];
  bool ends = p.done >= (p.course ? p.wanted : ends_of(c, p.wanted).most) ||
              p.failed >= std::min(kMostFailed, int(std::min<uint64_t>(p.wanted, kMostFailed)) + kPatience);
  // The closing of these counts, too.
  const double left = p.course ? p.home->left : budget;
  ends |= left <= double(p.actor.handles.size()) && left <= double(p.home->realiser.to_close(p.actor)) &&
          !(p.course && p.home->whole);
  const bool no_operation = p.planned != kEndOfProcess && model.symbols[p.planned - 1].is_process_step();
  if (!ends && no_operation && !lacks_open(p)) return process_step(number, time);
  // A course has a release where the last process has closed the open instance. A context may come to it sooner.
  if (!ends && !p.course && p.planned != kEndOfProcess && p.home->realiser.leave(model.symbols[p.planned - 1], p.actor)) {
    remember(p, p.planned);
    ++p.done;
    return go_on(number, time);
  }
  if (!ends)
    if (const int64_t later = std::min(kLast, may_do(p, p.planned)); later > time) return events.push({later, order++, number});
  if (!ends && !step(p, op, batch.arena, &ends)) {
    if (no_operation) return process_step(number, time);
    if (may_wait(p, time)) {
      ++p.waited;
      if (p.home->realiser.locks_differ(model.symbols[p.planned - 1], p.actor)) return waits_for_lock.push_back(number);
      return events.push({std::max(time, events.top().time + 1), order++, number});
    }
    // The process goes on as if the operation had been done, so that what it does next still fits what it did before.
    ++counts.left_out;
    ++p.failed;
    if (p.planned == kEndOfProcess) {
      p.history = {kEndOfProcess};
    } else {
      remember(p, p.planned);
      ++counts.left_out_symbols[{model.symbols[p.planned - 1].kind, model.symbols[p.planned - 1].error}];
    }
  } else if (!ends) {
    p.failed = 0;
    p.last_kind = uint32_t(op.kind);
    op.who = who();
    op.duration = duration(op);
    p.home->realiser.in_flight(op);
    if (changes_locks(op.kind)) retry_locks(op.end());
    if (!op.error && changes_names(op.kind)) {
      for (ObjectId directory : {op.parent, op.parent2})
        if (int64_t& until = copy.changing[directory]; until < op.end()) until = op.end();
      world.tree.node(op.object).busy = op.end();
    }
    ++p.done;
    --budget;
    --p.home->left;
    ++counts.operations;
    batch.ops.push_back(op);
  }
  if (ends) {
    if (p.done) start_missing_children(number, time);
    if (const int64_t later = std::min(kLast, p.home->realiser.closes_at(p.actor)); later > time)
      return events.push({later, order++, number});
    Op close;
    close.start = time;
    close.thread = p.who.id;
    if (!p.home->realiser.close_one(p.actor, close)) return finish(number, time);
    close.who = who();
    close.duration = duration(close);
    p.home->realiser.in_flight(close);
    retry_locks(close.end());
    ++p.done;
    --budget;
    --p.home->left;
    ++counts.closed;
    ++counts.operations;
    batch.ops.push_back(close);
    p.failed = kMostFailed;
    return events.push({std::min(kLast, close.end()), order++, number});
  }
  go_on(number, p.failed ? time : op.end());
}

bool ModelSource::Impl::next(OpBatch& batch) {
  batch.clear();
  size_t entries = 0;
  while (batch.ops.size() < kBatch && entries < kBatchEntries) {
    end_by_signal();
    if (events.empty()) {  // only processes that wait for locks are left
      for (uint32_t number : waits_for_lock) processes[number]->waited = kMostWaits;
      retry_locks(now);
    }
    if (cycle < cycles && (events.empty() || events.top().time >= int64_t(cycle) * busy)) {
      begin_cycle();
      continue;
    }
    if (events.empty() && !fill_up(now)) break;
    const Event event = events.top();
    events.pop();
    now = event.time;
    const size_t made = batch.ops.size();
    run(event.process, event.time, batch);
    if (batch.ops.size() > made) entries += batch.ops.back().entries.size();
  }
  return !batch.ops.empty();
}

ModelSource::ModelSource(const LoadModel& model, const ModelOptions& options) : impl_(std::make_unique<Impl>(model, options)) {}
ModelSource::~ModelSource() = default;

bool ModelSource::next(OpBatch& batch) { return impl_->next(batch); }
const ModelCounts& ModelSource::counts() const { return impl_->counts; }

int64_t ModelSource::length() const {
  constexpr int64_t kLate = 50'000'000;  // ns by which a replay may be late, so that the last operations are still issued
  const int64_t duration = impl_->options.duration;
  return duration ? duration - std::min(kLate, duration / 100) : impl_->span;
}

double ModelSource::runs() const { return impl_->runs; }

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
  for (const OpenBefore& open : impl_->world.open_before) {
    Op op;
    op.kind = tree.node(open.object).type == kDirectoryType ? OpKind::opendir : OpKind::open;
    op.object = open.object;
    op.handle = open.handle;
    op.open_flags = open.flags;
    op.thread = open.thread;
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
  h.clock_unit = impl_->model.clock_unit;
  h.program = "model " FSR_VERSION;
  h.visibility = "every call";
  h.edits = {fmt::format("made up from a model with seed {}, {:g}x", o.seed, o.load)};
  return h;
}

}  // namespace fsr
