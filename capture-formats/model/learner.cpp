// SPDX-License-Identifier: Apache-2.0
#include "model/learner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "model/context_tree.hpp"
#include "model/courses.hpp"
#include "model/model_file.hpp"
#include "model/observer.hpp"
#include "model/places.hpp"
#include "model/process_links.hpp"
#include "model/stalls.hpp"
#include "model/thread_groups.hpp"
#include "model/witnesses.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr uint64_t kRare = 3;          // what occurred less often is not kept
constexpr size_t kFewGaps = 8;         // a pair of kinds with fewer gaps has those of its phase
constexpr uint32_t kPhaseLength = 16;  // steps of a process for each phase, at least

// The less that a symbol says, the more often it occurs. Level 0 is all, the last one kind and outcome.
constexpr int kInexact = 1, kSizeless = 2;  // levels; Places::round makes the first one
constexpr int kLevels = 6;
Symbol coarser(Symbol s, int level, ModelForm form) {
  if (level >= kSizeless) s.offset = s.bytes = 0;
  level -= kSizeless;
  if (level >= 1) {
    for (Reference* r : {&s.object, &s.parent, &s.second})
      if (r->relation == Relation::known) r->bucket = uint8_t(r->bucket / 3 * 3 + 1);
    if (finds_file(s.kind)) s.size = coarse_file_class(s.size);
  }
  if (level >= 2) {
    for (Reference* r : {&s.object, &s.parent, &s.second})
      if (r->relation == Relation::recent && r->bucket > 1) r->bucket = 4;
    // A course that takes another instance takes wrong ones from there on.
    if (s.handle > 1 && s.handle < 9 && form == ModelForm::contexts) s.handle = 2;
    if (s.kind != OpKind::setlk && s.kind != OpKind::getlk) s.size = 0;
  }
  if (level >= 3) {
    for (Reference* r : {&s.object, &s.parent, &s.second})
      if (r->relation == Relation::recent || r->relation == Relation::next || r->relation == Relation::known)
        *r = {Relation::recent, 1};
  }
  return s;
}

// A symbol without what each name, open instance and size has of its own.
Symbol anonymous(Symbol s) {
  if (s.handle > 1 && s.handle < 9) s.handle = 1;
  for (Reference* r : {&s.object, &s.parent, &s.second})
    if (r->relation == Relation::hot || r->relation == Relation::name) r->bucket = 0;
  return coarser(s, kSizeless, ModelForm::courses);
}

// Values that witnesses know by other numbers than those of kinds, which have pairs of bytes and offset.
constexpr uint32_t kSizeValue = 1 << 8, kGapValue = 2 << 8, kFileValue = 3 << 8;

// Values that few files have lose all but their first digits, so that no file is known by its size.
Quantiles sizes_of(std::vector<uint64_t> samples, uint64_t most, uint32_t value, const Witnesses& witnesses) {
  for (uint64_t& size : samples) size = std::min(size, most);
  for (uint64_t& size : samples)
    if (!witnesses.common({value, size, 0})) size = inexact(size);
  return Quantiles::of_sizes(std::move(samples));
}

// In the place of a class of sizes that is rare. The same one: there is none.
uint8_t coarser_class(OpKind kind, uint8_t size_class) {
  if (kind != OpKind::lookup) return size_class == kBeyondEnd ? kBeyondEnd : 0;
  return size_class < kInDirectory ? coarse_file_class(size_class) : kInDirectory;
}

bool has_range(const Symbol& s) { return (s.kind == OpKind::setlk || s.kind == OpKind::getlk) && s.size; }

// Keeps the ranges of the locks that stay, and gives them new numbers. `common`: old numbers of those that stay exact.
void keep_ranges(const std::vector<std::pair<uint64_t, uint64_t>>& ranges, const std::set<uint8_t>& common, LoadModel& model) {
  std::map<uint8_t, uint8_t> numbers;                 // new ones by old ones
  const auto kept = [](uint64_t value, bool exact) {  // a length of INT64_MAX is the rest of the file
    return exact || value >= INT64_MAX ? std::min<uint64_t>(value, INT64_MAX) : inexact(value);
  };
  for (const Symbol& s : model.symbols)
    if (has_range(s)) numbers[s.size] = 0;
  for (auto& [before, now] : numbers) {
    const auto& [offset, length] = ranges[before - 1];
    model.ranges.emplace_back(kept(offset, common.contains(before)), kept(length, common.contains(before)));
    now = uint8_t(model.ranges.size());
  }
  for (Symbol& s : model.symbols)
    if (has_range(s)) s.size = numbers[s.size];
}

int64_t whole_microseconds(int64_t ns) { return (ns + 999) / 1000 * 1000; }

// The kind of operation among whose sizes one is kept.
OpKind sampled_kind(OpKind kind) { return finds_file(kind) ? OpKind::lookup : kind; }

std::string cut_command(std::string command) {
  while (json_text(command).size() > kMostCommand) command.pop_back();
  return command;
}

}  // namespace

struct ModelLearner::Impl {
  bool keep_commands = false;
  ModelForm form = ModelForm::contexts;
  size_t pauses = 0;
  HotNames hot;
  bool surveyed = false;
  LockOwners owners;
  Observer observer{hot, owners};
  std::vector<Symbol> all;  // complete symbols
  std::vector<uint64_t> counts;
  std::unordered_map<Symbol, SymbolId, SymbolHash> numbers;
  std::vector<LearnedThread> threads;
  std::unordered_map<ThreadId, size_t> current;   // of the trace in hand
  std::vector<std::pair<int64_t, int64_t>> runs;  // first start and last end
  std::vector<uint64_t> operations_of_runs;
  int64_t span() const;  // ns of a run
  bool begun = false;
  size_t typical = 0;                                                            // run whose courses a model keeps
  std::map<std::tuple<OpKind, uint8_t, SymbolId>, std::vector<uint64_t>> sizes;  // by kind, class and complete symbol
  std::vector<uint64_t> files;                                                   // sizes of those that existed before a run
  Witnesses witnesses;
  uint64_t dropped = 0;

  void note(const Op& op, const Observed& seen, const Symbol& symbol);
  void add(const Op& op);
  std::set<uint8_t> common_ranges() const;
  std::vector<SymbolId> keep_common(LoadModel& model);
  void keep_sizes(const std::vector<SymbolId>& kept, LoadModel& model);
  uint64_t drop_rare(const std::vector<SymbolId>& kept, LoadModel& model);
  std::vector<std::vector<size_t>> group(const std::vector<Symbol>& symbols);
  void cut_stalls(LoadModel& model);
  void join_rare(std::vector<std::vector<size_t>>& classes);
  ProcessClass describe(const std::vector<size_t>& members, size_t of_runs, const LoadModel& model);
  void learn_contexts(const std::vector<size_t>& members, uint32_t number, LoadModel& model);
  void times(const std::vector<size_t>& members, uint32_t number, int64_t most, LoadModel& model);
};

void ModelLearner::Impl::note(const Op& op, const Observed& seen, const Symbol& symbol) {
  witnesses.name(op.object, observer.leaf_of(op.object));
  if (symbol.bytes || symbol.offset) witnesses.note({uint32_t(op.kind), symbol.bytes, symbol.offset}, op.object);
  if (seen.size) witnesses.note({kSizeValue + uint32_t(sampled_kind(op.kind)), *seen.size, 0}, op.object);
  if (seen.gap) witnesses.note({kGapValue, *seen.gap, 0}, op.object);
  if (!seen.existed) return;
  witnesses.note({kFileValue, *seen.existed, 0}, op.object);
  files.push_back(*seen.existed);
}

void ModelLearner::Impl::add(const Op& op) {
  const std::optional<Observed> seen = observer.add(op);
  if (!seen) {
    ++dropped;
    return;
  }
  Symbol symbol = seen->symbol;
  if (form == ModelForm::courses) {
    if (seen->size && !is_listing(op.kind)) symbol.bytes = std::min(*seen->size, kMostBytes);
    if (symbol.place >= Place::elsewhere) symbol.offset = std::min(op.offset + 1, kMostBytes);
  }
  note(op, *seen, symbol);
  if (!begun) {
    runs.emplace_back(op.start, op.end());
    operations_of_runs.push_back(0);
  }
  ++operations_of_runs.back();
  begun = true;
  runs.back().second = std::max(runs.back().second, op.end());
  auto [number, first] = numbers.try_emplace(symbol, SymbolId(all.size()));
  if (first) {
    all.push_back(symbol);
    counts.push_back(0);
  }
  ++counts[number->second];
  if (seen->size) {
    const uint8_t size_class = seen->size_class ? seen->size_class : seen->symbol.size;
    sizes[{sampled_kind(op.kind), size_class, number->second}].push_back(*seen->size);
  }
  if (seen->gap) sizes[{op.kind, kBeyondEnd, number->second}].push_back(*seen->gap);
  auto [place, news] = current.try_emplace(op.thread, threads.size());
  if (news) {
    LearnedThread& t = threads.emplace_back();
    t.run = runs.size() - 1;
    if (op.who) {
      t.command = std::string(op.who->command);
      t.client = op.who->client;
      t.tid = op.who->tid;
      t.pid = op.who->pid;
      t.ppid = op.who->ppid;
    }
  }
  threads[place->second].steps.push_back({op.start, number->second, time_code(uint64_t(std::max<int64_t>(0, op.duration)))});
}

// Returns the numbers of ranges of locks that a run has three times or more, on average.
std::set<uint8_t> ModelLearner::Impl::common_ranges() const {
  std::map<uint8_t, uint64_t> uses;
  for (SymbolId i = 0; i < all.size(); ++i)
    if (has_range(all[i])) uses[all[i].size] += counts[i];
  std::set<uint8_t> common;
  for (const auto& [range, n] : uses)
    if (n >= kRare * runs.size()) common.insert(range);
  return common;
}

// Returns for each complete symbol its number in the model, or kEndOfProcess if even its coarsest form is rare.
std::vector<SymbolId> ModelLearner::Impl::keep_common(LoadModel& model) {
  // No file must be known by its sizes, or by the places of its records.
  const auto exact = [&](const Symbol& s) {
    return (!s.bytes && !s.offset) || witnesses.common({uint32_t(s.kind), s.bytes, s.offset});
  };
  // Places to which each run comes back stay different. If all did, a model would be too large.
  std::map<std::tuple<OpKind, uint64_t, uint64_t>, uint64_t> uses;  // by kind, bytes and offset
  for (SymbolId i = 0; i < all.size(); ++i) uses[{all[i].kind, all[i].bytes, all[i].offset}] += counts[i];
  Places places;
  const auto kept_bytes = [&](const Symbol& s) {
    return witnesses.common({kSizeValue + uint32_t(sampled_kind(s.kind)), s.bytes, 0}) ? s.bytes : inexact(s.bytes);
  };
  for (const Symbol& s : all)
    if ((s.offset || s.place == Place::begin) && !exact(s) && uses[{s.kind, s.bytes, s.offset}] >= kRare * runs.size())
      places.add(s.offset ? s.offset - 1 : 0, s.bytes, kept_bytes(s));
  places.share();
  const auto rounded = [&](Symbol s) {
    s.bytes = kept_bytes(s);
    if (s.offset) s.offset = places.at(s.offset - 1) + 1;
    return s;
  };
  std::vector<SymbolId> kept(all.size(), kEndOfProcess);
  std::vector<bool> settled(all.size());
  for (int level = 0; level < kLevels; ++level) {
    std::map<Symbol, std::vector<SymbolId>> groups;
    std::map<Symbol, uint64_t> occurrences;
    for (SymbolId i = 0; i < all.size(); ++i) {
      const Symbol symbol = level == kInexact ? rounded(all[i]) : coarser(all[i], level, form);
      if (form == ModelForm::courses) occurrences[anonymous(symbol)] += counts[i];
      if (!settled[i]) groups[symbol].push_back(i);
    }
    for (const auto& [symbol, members] : groups) {
      uint64_t n = 0;
      for (SymbolId i : members) n += counts[i];
      if (form == ModelForm::courses) n = occurrences[anonymous(symbol)];
      if (n < kRare || (level == 0 && !exact(symbol))) continue;
      model.symbols.push_back(symbol);
      for (SymbolId i : members) {
        kept[i] = SymbolId(model.symbols.size());
        settled[i] = true;
      }
    }
  }
  return kept;
}

// Keeps the sizes of symbols that stay. Classes that are rare are put together, and left out if they are still rare then.
void ModelLearner::Impl::keep_sizes(const std::vector<SymbolId>& kept, LoadModel& model) {
  std::map<std::pair<OpKind, uint8_t>, std::vector<uint64_t>> by_class, common;
  const auto append = [](auto& to, OpKind kind, uint8_t size_class, const std::vector<uint64_t>& samples) {
    std::vector<uint64_t>& its = to[{kind, size_class}];
    its.insert(its.end(), samples.begin(), samples.end());
  };
  for (const auto& [key, samples] : sizes)
    if (const auto& [kind, size_class, symbol] = key; kept[symbol] != kEndOfProcess) append(by_class, kind, size_class, samples);
  for (const auto& [key, samples] : by_class)
    append(common, key.first, samples.size() < kRare ? coarser_class(key.first, key.second) : key.second, samples);
  for (auto& [key, samples] : common)
    if (samples.size() >= kRare)
      model.sizes[{uint32_t(key.first), key.second}] =
          sizes_of(std::move(samples), is_listing(key.first) ? kMostEntries : kMostBytes,
                   key.second == kBeyondEnd ? kGapValue : kSizeValue + uint32_t(key.first), witnesses);
}

// Gives steps the numbers of the model. Returns how many operations are left.
uint64_t ModelLearner::Impl::drop_rare(const std::vector<SymbolId>& kept, LoadModel& model) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> durations;
  uint64_t operations = 0;
  for (LearnedThread& t : threads) {
    for (LearnedStep& step : t.steps) {
      if ((step.symbol = kept[step.symbol]) == kEndOfProcess) continue;
      const Symbol& s = model.symbols[step.symbol - 1];
      durations[{uint32_t(s.kind), s.error != 0}].push_back(time_of_code(step.duration));
    }
    dropped += std::erase_if(t.steps, [](const LearnedStep& step) { return step.symbol == kEndOfProcess; });
    operations += t.steps.size();
  }
  for (auto& [key, samples] : durations) model.durations[key] = Quantiles::of_times(std::move(samples));
  return operations;
}

// Divides threads into classes: by command and length, and by what they do. Processes that made no operations are divided by the
// number of those that they started.
std::vector<std::vector<size_t>> ModelLearner::Impl::group(const std::vector<Symbol>& symbols) {
  std::vector<size_t> children(threads.size());
  for (const LearnedThread& t : threads)
    if (t.parent != kNoThread) ++children[t.parent];
  std::map<std::tuple<std::string, bool, uint32_t>, std::vector<size_t>> groups;
  for (size_t i = 0; i < threads.size(); ++i)
    if (const std::vector<LearnedStep>& steps = threads[i].steps; !steps.empty() || children[i])
      groups[{threads[i].command, steps.empty(), digits(std::max(steps.size(), children[i])) / 2}].push_back(i);
  std::vector<std::vector<size_t>> out;
  for (const auto& [key, members] : groups)
    for (std::vector<size_t>& alike : alike_threads(threads, members, symbols)) out.push_back(std::move(alike));
  join_rare(out);
  if (form == ModelForm::courses) {  // a class has a course at least
    std::erase_if(out, [&](const auto& members) {
      return std::none_of(members.begin(), members.end(), [&](size_t i) { return threads[i].run == typical; });
    });
  }
  for (size_t c = 0; c < out.size(); ++c)
    for (size_t i : out[c]) threads[i].number = uint32_t(c);
  return out;
}

// Lets a class that some runs lack join the one of its command that is nearest in length, if one is near. A run has no fraction
// of a process.
void ModelLearner::Impl::join_rare(std::vector<std::vector<size_t>>& classes) {
  constexpr double kNear = 2;  // binary digits of the number of steps
  auto length = [&](const std::vector<size_t>& members) {
    double steps = 0;
    for (size_t i : members) steps += double(threads[i].steps.size());
    return std::log2(1 + steps / double(members.size()));
  };
  std::vector<double> lengths;
  for (const std::vector<size_t>& members : classes) lengths.push_back(length(members));
  for (size_t c = 0; c < classes.size();) {
    std::pair<double, size_t> nearest{kNear, c};
    for (size_t other = 0; classes[c].size() < runs.size() && other < classes.size(); ++other)
      if (other != c && threads[classes[c][0]].command == threads[classes[other][0]].command)
        nearest = std::min(nearest, {std::abs(lengths[c] - lengths[other]), other});
    const size_t into = nearest.second;
    if (into == c) {
      ++c;
      continue;
    }
    classes[into].insert(classes[into].end(), classes[c].begin(), classes[c].end());
    std::sort(classes[into].begin(), classes[into].end());
    lengths[into] = length(classes[into]);
    classes.erase(classes.begin() + ptrdiff_t(c));
    lengths.erase(lengths.begin() + ptrdiff_t(c));
    c = 0;
  }
}

// Takes the stalls out of all times, unless they are so few that the model does not keep them.
void ModelLearner::Impl::cut_stalls(LoadModel& model) {
  std::vector<std::vector<Stall>> stalls;
  std::vector<uint64_t> lengths;
  for (size_t run = 0; run < runs.size(); ++run)
    for (const Stall& stall : stalls.emplace_back(find_stalls(threads, run))) lengths.push_back(uint64_t(stall.length()));
  if (lengths.size() < kRare * runs.size()) return;
  for (size_t run = 0; run < runs.size(); ++run) {
    fsr::cut_stalls(threads, run, stalls[run]);
    for (const Stall& stall : stalls[run]) runs[run].second -= stall.length();
  }
  model.stalls.count = lengths.size();
  model.stalls.times = Quantiles::of_times(std::move(lengths));
}

// `of_runs`: number of runs that have these members.
ProcessClass ModelLearner::Impl::describe(const std::vector<size_t>& members, size_t of_runs, const LoadModel& model) {
  ProcessClass c;
  std::vector<uint64_t> starts, lengths;
  std::map<std::pair<size_t, int64_t>, int> changes;  // of the number that run, by run and time
  for (size_t i : members) {
    const LearnedThread& t = threads[i];
    const auto& [first, last] = runs[t.run];
    if (t.parent == kNoThread)
      starts.push_back(uint64_t(double(t.first() - first) / double(std::max<int64_t>(1, last - first)) * 1e6));
    lengths.push_back(t.steps.size());
    for (const LearnedStep& step : t.steps) c.operations += !model.symbols[step.symbol - 1].is_process_step();
    c.steps += double(t.steps.size());
    ++changes[{t.run, t.first()}];
    --changes[{t.run, t.end() + 1}];
  }
  int at_once = 0;
  for (const auto& [when, change] : changes) c.at_once = std::max(c.at_once, uint32_t(std::max(1, at_once += change)));
  const auto n = double(of_runs);
  c.operations /= n;
  c.steps /= n;
  c.processes = double(members.size()) / n;
  c.roots = double(starts.size()) / n;
  c.start = Quantiles::of_sizes(std::move(starts));
  c.length = Quantiles::of_sizes(std::move(lengths));
  return c;
}

void ModelLearner::Impl::learn_contexts(const std::vector<size_t>& members, uint32_t number, LoadModel& model) {
  ProcessClass& of = model.classes[number];
  std::vector<std::vector<SymbolId>> sequences;
  for (size_t i : members) {
    std::vector<SymbolId>& s = sequences.emplace_back();
    for (const LearnedStep& step : threads[i].steps) s.push_back(step.symbol);
  }
  ContextTree best = grow_tree(sequences, 1);
  for (uint32_t phases : {4u, kMostPhases}) {
    if (of.steps / of.processes < phases * kPhaseLength) break;
    if (ContextTree tree = grow_tree(sequences, phases); tree.bits < best.bits) best = std::move(tree);
  }
  of.phases = best.phases;
  for (ModelContext& context : best.contexts) {
    context.phase += number * kMostPhases;
    model.contexts.push_back(std::move(context));
  }
}

// `most`: ns of a pause that counts.
void ModelLearner::Impl::times(const std::vector<size_t>& members, uint32_t number, int64_t most, LoadModel& model) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<uint64_t>> gaps;
  const uint32_t phases = model.classes[number].phases;
  for (size_t i : members) {
    const std::vector<LearnedStep>& steps = threads[i].steps;
    int64_t end = steps.empty() ? 0 : steps[0].end();
    for (size_t k = 1; k < steps.size(); end = std::max(end, steps[k++].end())) {
      const uint32_t phase = number * kMostPhases + uint32_t(k * phases / steps.size());
      const uint32_t before = step_kind(model.symbols[steps[k - 1].symbol - 1]),
                     kind = step_kind(model.symbols[steps[k].symbol - 1]);
      // How long a wait takes follows from the process for whose end it waits.
      const int64_t pause = std::max<int64_t>(0, steps[k].start - end);
      if (kind != kWaitsKind && pause < most) gaps[{phase, before, kind}].push_back(uint64_t(pause));
    }
  }
  auto keep = [&](const auto& key, const std::vector<uint64_t>& samples) {
    model.gaps[key] = {Quantiles::of_times(samples), samples.size()};
  };
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<uint64_t>> rest;
  for (auto& [key, samples] : gaps) {
    if (samples.size() >= kFewGaps) {
      keep(key, samples);
    } else {
      auto& all_kinds = rest[{std::get<0>(key), kAnyKind, kAnyKind}];
      all_kinds.insert(all_kinds.end(), samples.begin(), samples.end());
    }
  }
  for (const auto& [key, samples] : rest)
    if (samples.size() >= kRare) keep(key, samples);
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

ModelLearner::ModelLearner(bool keep_commands, ModelForm form, size_t pauses) : impl_(std::make_unique<Impl>()) {
  impl_->pauses = pauses;
  impl_->keep_commands = keep_commands;
  impl_->form = form;
}
ModelLearner::~ModelLearner() = default;

void ModelLearner::survey(const Op& op) {
  impl_->hot.add(op);
  impl_->owners.survey(op);
}

void ModelLearner::add(const Op& op) {
  if (!impl_->surveyed) impl_->hot.choose(impl_->form);
  impl_->surveyed = true;
  impl_->add(op);
}

void ModelLearner::end_trace() {
  if (!impl_->surveyed) {
    impl_->hot.end_trace();
    return impl_->owners.end_survey();
  }
  impl_->observer.end_trace();
  impl_->owners.end_trace();
  if (impl_->begun) impl_->witnesses.end_trace();
  impl_->current.clear();
  impl_->begun = false;
}

// Returns the length of a run with the mean number of operations at the median rate. One slow run must not make all runs of the
// model slow.
int64_t ModelLearner::Impl::span() const {
  std::vector<double> rates;
  double operations = 0, longest = 1;
  for (size_t i = 0; i < runs.size(); ++i) {
    const double length = std::max(1.0, double(runs[i].second - runs[i].first));
    longest = std::max(longest, length);
    operations += double(operations_of_runs[i]);
    rates.push_back(double(operations_of_runs[i]) / length);
  }
  return int64_t(std::min(longest, operations / double(runs.size()) / middle_of(std::move(rates))));
}

LoadModel ModelLearner::finish() {
  Impl& in = *impl_;
  if (in.runs.empty()) throw std::runtime_error("no operations to learn from");
  LoadModel model;
  model.program = "fstrace model " FSR_VERSION;
  model.runs = uint32_t(in.runs.size());
  model.span = whole_microseconds(in.span());
  const std::vector<SymbolId> kept = in.keep_common(model);
  const uint64_t operations = in.drop_rare(kept, model);
  if (!operations) throw std::runtime_error("too few operations to learn from: none occurred three times");
  model.operations = operations / in.runs.size();
  model.dropped = in.dropped;
  in.keep_sizes(kept, model);
  model.files = sizes_of(std::move(in.files), kMostBytes, kFileValue, in.witnesses);
  keep_ranges(in.observer.ranges(), in.common_ranges(), model);
  const bool courses = in.form == ModelForm::courses;
  link_processes(in.threads, kRare * (courses ? 1 : in.runs.size()));
  if (courses) {
    in.typical = typical_run(in.threads, in.runs);
    model.hot = in.hot.names_at(in.typical);
  } else {
    in.cut_stalls(model);
    model.hot = in.hot.names();
    mend_hot_names(model, in.hot);
  }
  uint64_t entries = kMostPrepared;  // left for directories
  model.root_entries = std::min(in.hot.root_entries(), entries);
  entries -= model.root_entries;
  for (OftenUsedName& h : model.hot) {
    h.size = std::min(inexact(h.size), h.type == kDirectoryType ? entries : kMostBytes);
    if (h.type == kDirectoryType) entries -= h.size;
  }
  std::vector<std::vector<size_t>> classes = in.group(model.symbols);
  std::map<std::pair<ProcessStep, uint32_t>, SymbolId> process_steps;
  add_process_steps(in.threads, [&](ProcessStep step, uint32_t number) {
    SymbolId& id = process_steps[{step, number}];
    if (!id) {
      model.symbols.push_back({.kind = OpKind::null, .handle = uint8_t(step), .argument = number});
      id = SymbolId(model.symbols.size());
    }
    return id;
  });
  const int64_t most = courses ? long_pause(in.threads, in.typical, model.span, in.pauses) : INT64_MAX;
  std::vector<std::vector<double>> ranks;
  if (courses) ranks = ranks_of(in.threads, in.typical, model.symbols, most);
  for (uint32_t c = 0; c < classes.size(); ++c) {
    std::vector<size_t> members = classes[c];
    if (courses) std::erase_if(members, [&](size_t i) { return in.threads[i].run != in.typical; });
    model.classes.push_back(in.describe(members, courses ? 1 : in.runs.size(), model));
    const std::string& command = in.threads[classes[c].front()].command;
    model.classes[c].command = in.keep_commands && !command.empty() ? cut_command(command) : "class " + std::to_string(c + 1);
    if (courses)
      model.classes[c].courses = courses_of(in.threads, members, ranks, in.runs[in.typical].first, most);
    else
      in.learn_contexts(members, c, model);
    in.times(classes[c], c, most, model);
  }
  if (courses) {
    double sum = 0;
    for (const ProcessClass& c : model.classes) sum += c.operations;
    model.operations = uint64_t(sum);
    model.span = whole_microseconds(in.runs[in.typical].second - in.runs[in.typical].first);
    keep_used(model);
  }
  check_model(model);
  return model;
}

}  // namespace fsr
