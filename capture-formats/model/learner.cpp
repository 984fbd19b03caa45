// SPDX-License-Identifier: Apache-2.0
#include "model/learner.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

#include "model/context_tree.hpp"
#include "model/observer.hpp"

namespace fsr {

namespace {

constexpr uint64_t kRare = 3;          // what occurred less often is not kept
constexpr size_t kFewGaps = 16;        // a pair of kinds with fewer gaps has those of its phase
constexpr double kNews = 0.05;         // share of operations on objects that were not touched before; above it a process explores
constexpr uint32_t kPhaseLength = 16;  // operations of a process for each phase, at least

// The less that a symbol says, the more often it occurs. Level 0 is all, the last one kind and outcome.
constexpr int kLevels = 4;
Symbol coarser(Symbol s, int level) {
  if (level >= 1) {
    for (Reference* r : {&s.object, &s.parent, &s.second})
      if (r->relation == Relation::known) r->bucket = uint8_t(r->bucket / 3 * 3 + 1);
    if (s.kind == OpKind::lookup) s.size = uint8_t(s.size / 4 * 4 + (s.size ? 1 : 0));
  }
  if (level >= 2) {
    for (Reference* r : {&s.object, &s.parent, &s.second})
      if (r->relation == Relation::recent && r->bucket > 1) r->bucket = 4;
    if (s.handle > 1 && s.handle < 9) s.handle = 2;
    if (s.kind != OpKind::setlk && s.kind != OpKind::getlk) s.size = 0;
  }
  if (level >= 3) {
    for (Reference* r : {&s.object, &s.parent, &s.second})
      if (r->relation == Relation::recent || r->relation == Relation::next || r->relation == Relation::known)
        *r = {Relation::recent, 1};
  }
  return s;
}

}  // namespace

struct ModelLearner::Impl {
  struct Step {
    SymbolId symbol = 0;             // before finish(): of the complete symbol, or of none: kEndOfProcess
    uint32_t gap = 0, duration = 0;  // time codes
  };
  struct Thread {
    std::string command;
    int64_t first = 0, end = 0;
    size_t run = 0;
    std::vector<Step> steps;
  };

  bool keep_commands = false;
  HotNames hot;
  bool surveyed = false;
  Observer observer{hot};
  std::vector<Symbol> all;  // complete symbols
  std::vector<uint64_t> counts;
  std::unordered_map<Symbol, SymbolId, SymbolHash> numbers;
  std::vector<Thread> threads;
  std::unordered_map<ThreadId, size_t> current;   // of the trace in hand
  std::vector<std::pair<int64_t, int64_t>> runs;  // first start and last end
  bool begun = false;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> sizes;
  uint64_t dropped = 0;

  void add(const Op& op);
  std::vector<SymbolId> keep_common(LoadModel& model);
  std::vector<std::vector<size_t>> classes(LoadModel& model);
  void times(const std::vector<size_t>& members, uint32_t number, LoadModel& model);
};

void ModelLearner::Impl::add(const Op& op) {
  const std::optional<Observed> seen = observer.add(op);
  if (!seen) {
    ++dropped;
    return;
  }
  if (!begun) runs.emplace_back(op.start, op.end());
  begun = true;
  runs.back().second = std::max(runs.back().second, op.end());
  auto [number, first] = numbers.try_emplace(seen->symbol, SymbolId(all.size()));
  if (first) {
    all.push_back(seen->symbol);
    counts.push_back(0);
  }
  ++counts[number->second];
  if (seen->size) sizes[{uint32_t(op.kind), seen->symbol.size}].push_back(*seen->size);
  auto [place, news] = current.try_emplace(op.thread, threads.size());
  if (news) {
    Thread& t = threads.emplace_back();
    t.first = t.end = op.start;
    t.run = runs.size() - 1;
    if (op.who) t.command = std::string(op.who->command);
  }
  Thread& t = threads[place->second];
  const auto code = [](int64_t ns) { return time_code(uint64_t(std::max<int64_t>(0, ns))); };
  t.steps.push_back({number->second, code(op.start - t.end), code(op.duration)});
  t.end = std::max(t.end, op.end());
}

// Returns for each complete symbol its number in the model, or kEndOfProcess if even its coarsest form is rare.
std::vector<SymbolId> ModelLearner::Impl::keep_common(LoadModel& model) {
  std::vector<SymbolId> kept(all.size(), kEndOfProcess);
  std::vector<bool> settled(all.size());
  for (int level = 0; level < kLevels; ++level) {
    std::map<Symbol, std::vector<SymbolId>> groups;
    for (SymbolId i = 0; i < all.size(); ++i)
      if (!settled[i]) groups[coarser(all[i], level)].push_back(i);
    for (const auto& [symbol, members] : groups) {
      uint64_t n = 0;
      for (SymbolId i : members) n += counts[i];
      if (n < kRare) continue;
      model.symbols.push_back(symbol);
      for (SymbolId i : members) {
        kept[i] = SymbolId(model.symbols.size());
        settled[i] = true;
      }
    }
  }
  return kept;
}

// Threads of one command and of similar length, which find as much that is new, belong to one class.
std::vector<std::vector<size_t>> ModelLearner::Impl::classes(LoadModel& model) {
  std::map<std::tuple<std::string, uint32_t, bool>, std::vector<size_t>> groups;
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::vector<Step>& steps = threads[i].steps;
    if (steps.empty()) continue;
    const auto fresh = std::count_if(steps.begin(), steps.end(), [&](const Step& step) {
      const Symbol& s = model.symbols[step.symbol - 1];
      return s.object.relation == Relation::fresh || s.parent.relation == Relation::fresh;
    });
    groups[{threads[i].command, digits(steps.size()) / 2, double(fresh) > kNews * double(steps.size())}].push_back(i);
  }
  std::vector<std::vector<size_t>> out;
  for (auto& [key, members] : groups) {
    ProcessClass c;
    c.command = keep_commands ? std::get<0>(key) : "class " + std::to_string(out.size() + 1);
    std::vector<uint64_t> starts, lengths;
    std::map<std::pair<size_t, int64_t>, int> changes;  // of the number that run, by run and time
    for (size_t i : members) {
      const Thread& t = threads[i];
      const auto& [first, last] = runs[t.run];
      starts.push_back(uint64_t(double(t.first - first) / double(std::max<int64_t>(1, last - first)) * 1e6));
      lengths.push_back(t.steps.size());
      c.operations += double(t.steps.size()) / double(runs.size());
      ++changes[{t.run, t.first}];
      --changes[{t.run, t.end + 1}];
    }
    int at_once = 0;
    for (const auto& [when, change] : changes) c.at_once = std::max(c.at_once, uint32_t(std::max(1, at_once += change)));
    c.processes = double(members.size()) / double(runs.size());
    c.start = Quantiles::of_sizes(std::move(starts));
    c.length = Quantiles::of_sizes(std::move(lengths));
    model.classes.push_back(std::move(c));
    out.push_back(std::move(members));
  }
  return out;
}

void ModelLearner::Impl::times(const std::vector<size_t>& members, uint32_t number, LoadModel& model) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<uint64_t>> gaps;
  const uint32_t phases = model.classes[number].phases;
  for (size_t i : members) {
    const std::vector<Step>& steps = threads[i].steps;
    for (size_t k = 1; k < steps.size(); ++k) {
      const uint32_t phase = number * kMostPhases + uint32_t(k * phases / steps.size());
      const auto before = uint32_t(model.symbols[steps[k - 1].symbol - 1].kind),
                 kind = uint32_t(model.symbols[steps[k].symbol - 1].kind);
      gaps[{phase, before, kind}].push_back(time_of_code(steps[k].gap));
    }
  }
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<uint64_t>> rest;
  for (auto& [key, samples] : gaps) {
    if (samples.size() >= kFewGaps) {
      model.gaps[key] = Quantiles::of_times(std::move(samples));
    } else {
      auto& all_kinds = rest[{std::get<0>(key), kAnyKind, kAnyKind}];
      all_kinds.insert(all_kinds.end(), samples.begin(), samples.end());
    }
  }
  for (auto& [key, samples] : rest) model.gaps[key] = Quantiles::of_times(std::move(samples));
}

// A name whose object is used, and whose creation is too rare to be kept, exists from the start.
static void mend_hot_names(LoadModel& model, const HotNames& hot) {
  for (size_t i = 0; i < model.hot.size(); ++i) {
    const Reference object{Relation::hot, uint8_t(i)}, name{Relation::name, uint8_t(i)};
    bool used = false, made = false;
    for (const Symbol& s : model.symbols) {
      used |= s.object == object || s.second == object;
      made |= s.parent == name && !s.error;
    }
    if (!used || made || model.hot[i].existed) continue;
    model.hot[i].existed = true;
    model.hot[i].size = hot.largest(i);
  }
}

ModelLearner::ModelLearner(bool keep_commands) : impl_(std::make_unique<Impl>()) { impl_->keep_commands = keep_commands; }
ModelLearner::~ModelLearner() = default;

void ModelLearner::survey(const Op& op) { impl_->hot.add(op); }

void ModelLearner::add(const Op& op) {
  if (!impl_->surveyed) impl_->hot.choose();
  impl_->surveyed = true;
  impl_->add(op);
}

void ModelLearner::end_trace() {
  if (!impl_->surveyed) return impl_->hot.end_trace();
  impl_->observer.end_trace();
  impl_->current.clear();
  impl_->begun = false;
}

LoadModel ModelLearner::finish() {
  Impl& in = *impl_;
  if (in.runs.empty()) throw std::runtime_error("no operations to learn from");
  LoadModel model;
  model.program = "fstrace model " FSR_VERSION;
  model.runs = uint32_t(in.runs.size());
  for (const auto& [first, last] : in.runs) model.span += (last - first) / int64_t(in.runs.size());
  const std::vector<SymbolId> kept = in.keep_common(model);
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> durations;
  uint64_t operations = 0;
  for (Impl::Thread& t : in.threads) {
    std::vector<Impl::Step> common;
    for (Impl::Step step : t.steps) {
      if ((step.symbol = kept[step.symbol]) == kEndOfProcess) {
        ++in.dropped;
        continue;
      }
      const Symbol& s = model.symbols[step.symbol - 1];
      durations[{uint32_t(s.kind), s.error != 0}].push_back(time_of_code(step.duration));
      common.push_back(step);
    }
    t.steps = std::move(common);
    operations += t.steps.size();
  }
  if (!operations) throw std::runtime_error("too few operations to learn from: none occurred three times");
  model.operations = operations / in.runs.size();
  model.dropped = in.dropped;
  for (auto& [key, samples] : durations) model.durations[key] = Quantiles::of_times(std::move(samples));
  for (auto& [key, samples] : in.sizes) model.sizes[key] = Quantiles::of_sizes(std::move(samples));
  model.files = Quantiles::of_sizes(std::move(in.observer.files()));
  model.hot = in.hot.names();
  mend_hot_names(model, in.hot);
  model.ranges = in.observer.ranges();
  const std::vector<std::vector<size_t>> classes = in.classes(model);
  for (uint32_t c = 0; c < classes.size(); ++c) {
    std::vector<std::vector<SymbolId>> sequences;
    for (size_t i : classes[c]) {
      std::vector<SymbolId>& s = sequences.emplace_back();
      for (const Impl::Step& step : in.threads[i].steps) s.push_back(step.symbol);
    }
    ContextTree best = grow_tree(sequences, 1);
    for (uint32_t phases : {4u, kMostPhases}) {
      if (model.classes[c].operations / model.classes[c].processes < phases * kPhaseLength) break;
      if (ContextTree tree = grow_tree(sequences, phases); tree.bits < best.bits) best = std::move(tree);
    }
    model.classes[c].phases = best.phases;
    for (ModelContext& context : best.contexts) {
      context.phase += c * kMostPhases;
      model.contexts.push_back(std::move(context));
    }
    in.times(classes[c], c, model);
  }
  return model;
}

}  // namespace fsr
