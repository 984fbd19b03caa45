// SPDX-License-Identifier: Apache-2.0
#include "model/context_tree.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace fsr {

namespace {

constexpr uint32_t kFewVisits = 3;  // a context that occurred less often is not kept

using SymbolCounts = std::map<SymbolId, uint32_t>;
using Followers = std::vector<std::pair<SymbolId, uint32_t>>;  // in ascending order, and how often each came

// A context that is worth its bits.
struct Node {
  uint32_t phase = 0;
  bool kept = true;
  size_t shorter = 0;  // number of the context that would take its place; its own if it has no history
  std::span<const SymbolId> history;
  SymbolCounts next;          // of the steps that no longer context has
  uint64_t visits = 0;        // sum of the counts in `next`
  double cost = 0;            // bits
  SymbolCounts last;          // the last ones of each sequence
  size_t counted = SIZE_MAX;  // sequence whose last one is in `last`
};

// Bits that a context with these followers saves against a shorter one.
double saved_bits(const Followers& next, double visits, const Followers& shorter, double shorter_visits) {
  double bits = 0;
  for (const auto& [symbol, n] : next) {
    const auto same = std::lower_bound(shorter.begin(), shorter.end(), std::pair(symbol, 0u));
    bits += n * std::log2(double(n) / visits / (double(same->second) / shorter_visits));
  }
  return bits;
}

// Returns the symbol that has the highest count; of equal ones the one with the lowest number.
SymbolId most_frequent(const SymbolCounts& counts) {
  return std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
}

// Chooses contexts in one walk through the tree of histories. A history that is one symbol longer divides the steps of the
// shorter one. The walk ends at a history that is rare, because longer ones are at least as rare.
//
// Memory: about 20 bytes a step, and the contexts that are kept.
class Grower {
 public:
  Grower(std::span<const std::vector<SymbolId>> sequences, uint32_t phases);
  ContextTree tree();

 private:
  struct Group {
    std::span<uint32_t> steps;  // places in `text_`
    size_t length = 0;          // of their common history
    uint32_t phase = 0;
  };
  Followers count(std::span<const uint32_t> steps, size_t back);
  void divide(std::span<uint32_t> steps, size_t back, const Followers& parts);
  void grow(const Group& group, size_t shorter, const Followers* shorter_next, size_t shorter_visits);
  void count_once();
  void count_last();
  Node& node_of(size_t place);

  // The symbols of all sequences, with the end of a process before, between and after them. The history of a process begins with
  // the end of another.
  std::vector<SymbolId> text_;
  std::vector<uint32_t> phase_ends_;  // of each phase, the end of its steps in `steps_`
  std::vector<uint32_t> steps_;       // places, by phase, then by history
  std::vector<uint32_t> spare_;       // while steps are divided
  std::vector<uint32_t> of_symbol_;   // count, or place, by symbol; 0 between uses
  size_t symbols_ = 0;                // different ones
  std::vector<Node> nodes_;           // a context comes after the shorter ones that its history ends with
  std::vector<uint32_t> owners_;      // by place: the longest context that fits
};

Grower::Grower(std::span<const std::vector<SymbolId>> sequences, uint32_t phases) : text_{kEndOfProcess} {
  std::vector<std::vector<uint32_t>> of_phase(phases);
  for (const std::vector<SymbolId>& s : sequences) {
    for (size_t i = 0; i <= s.size(); ++i)
      of_phase[std::min<size_t>(i * phases / std::max<size_t>(1, s.size()), phases - 1)].push_back(uint32_t(text_.size() + i));
    text_.insert(text_.end(), s.begin(), s.end());
    text_.push_back(kEndOfProcess);
  }
  for (std::vector<uint32_t>& places : of_phase) {
    steps_.insert(steps_.end(), places.begin(), places.end());
    phase_ends_.push_back(uint32_t(steps_.size()));
    places = {};
  }
  spare_.resize(steps_.size());
  owners_.resize(text_.size());
  of_symbol_.resize(*std::max_element(text_.begin(), text_.end()) + 1);
  symbols_ = count(steps_, 0).size();
}

// Counts the symbols that are `back` places before the steps.
Followers Grower::count(std::span<const uint32_t> steps, size_t back) {
  Followers counts;
  for (uint32_t place : steps)
    if (const SymbolId symbol = text_[place - back]; of_symbol_[symbol]++ == 0) counts.emplace_back(symbol, 0);
  std::sort(counts.begin(), counts.end());
  for (auto& [symbol, n] : counts) n = std::exchange(of_symbol_[symbol], 0);
  return counts;
}

// Sorts the steps by the symbol that is `back` places before. `parts`: how many have each.
void Grower::divide(std::span<uint32_t> steps, size_t back, const Followers& parts) {
  uint32_t begin = 0;
  for (const auto& [symbol, n] : parts) of_symbol_[symbol] = std::exchange(begin, begin + n);
  for (uint32_t place : steps) spare_[of_symbol_[text_[place - back]]++] = place;
  std::copy_n(spare_.begin(), steps.size(), steps.begin());
  for (const auto& [symbol, n] : parts) of_symbol_[symbol] = 0;
}

// `shorter`: the longest kept context that ends the history of the group, with what followed it. `shorter_next` is null if there
// is none.
void Grower::grow(const Group& group, size_t shorter, const Followers* shorter_next, size_t shorter_visits) {
  const auto& [steps, length, phase] = group;
  const Followers next = count(steps, 0);
  const auto visits = double(steps.size());
  double cost = double(next.size()) * count_bits(shorter_next ? shorter_next->size() : symbols_, visits);
  if (shorter_next) cost += double(length - nodes_[shorter].history.size()) * std::log2(std::max(2.0, double(symbols_)));
  if (!shorter_next || saved_bits(next, visits, *shorter_next, double(shorter_visits)) >= cost) {
    const size_t number = nodes_.size();
    Node& node = nodes_.emplace_back();
    node.phase = phase;
    node.shorter = shorter_next ? shorter : number;
    node.history = std::span(text_).subspan(steps[0] - length, length);
    node.cost = cost;
    for (uint32_t place : steps) owners_[place] = uint32_t(number);
    shorter = number;
    shorter_next = &next;
    shorter_visits = steps.size();
  }
  if (length == kMostHistory || (length > 0 && text_[steps[0] - length] == kEndOfProcess)) return;
  const Followers parts = count(steps, length + 1);
  divide(steps, length + 1, parts);
  size_t begin = 0;
  for (const auto& [symbol, n] : parts) {
    if (n >= kFewVisits) grow({steps.subspan(begin, n), length + 1, phase}, shorter, shorter_next, shorter_visits);
    begin += n;
  }
}

// Counts each step in the longest context that fits, and in no other one. A context that is then rare leaves its steps to a
// shorter one.
void Grower::count_once() {
  std::vector<Followers> of_phase;  // symbols that occur in it
  size_t begin = 0;
  for (size_t end : phase_ends_) of_phase.push_back(count(std::span(steps_).subspan(begin, end - begin), 0)), begin = end;
  for (uint32_t place : steps_) {
    Node& node = nodes_[owners_[place]];
    ++node.visits;
    ++node.next[text_[place]];
  }
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    if (node.history.empty()) {
      // A history that never was may still come up when a step can't be made.
      if (node.visits == 0)
        for (const auto& [symbol, n] : of_phase[node.phase]) node.visits += node.next[symbol] = 1;
    } else if (node.visits < kFewVisits) {
      node.kept = false;
      Node& heir = nodes_[node.shorter];
      heir.visits += node.visits;
      for (const auto& [symbol, n] : node.next) heir.next[symbol] += n;
    }
  }
}

Node& Grower::node_of(size_t place) {
  size_t number = owners_[place];
  while (!nodes_[number].kept) number = nodes_[number].shorter;
  return nodes_[number];
}

// Counts what followed when each sequence was in a context for the last time.
void Grower::count_last() {
  size_t sequence = 0;
  for (size_t place = text_.size(); place-- > 1;) {
    sequence += text_[place] == kEndOfProcess;
    Node& node = node_of(place);
    if (std::exchange(node.counted, sequence) != sequence) ++node.last[text_[place]];
  }
}

ContextTree Grower::tree() {
  size_t begin = 0;
  for (uint32_t phase = 0; phase < phase_ends_.size(); ++phase) {
    const auto steps = std::span(steps_).subspan(begin, phase_ends_[phase] - begin);
    if (!steps.empty()) grow({steps, 0, phase}, 0, nullptr, 0);
    begin = phase_ends_[phase];
  }
  count_once();
  count_last();
  ContextTree tree{.phases = uint32_t(phase_ends_.size()), .contexts = {}, .bits = 0};
  for (const Node& node : nodes_) {
    if (!node.kept) continue;
    tree.bits += node.cost;
    for (const auto& [symbol, n] : node.next) tree.bits -= n * std::log2(double(n) / double(node.visits));
    ModelContext& context = tree.contexts.emplace_back(ModelContext{.phase = node.phase, .history = {}, .next = {}});
    context.history.assign(node.history.begin(), node.history.end());
    context.next.assign(node.next.begin(), node.next.end());
    context.last = most_frequent(node.last.empty() ? node.next : node.last);
  }
  std::sort(tree.contexts.begin(), tree.contexts.end(), [](const ModelContext& a, const ModelContext& b) {
    return std::tie(a.phase, a.history) < std::tie(b.phase, b.history);
  });
  return tree;
}

}  // namespace

uint64_t context_key(uint32_t phase, std::span<const SymbolId> history) {
  uint32_t words[kMostHistory + 1] = {phase};
  std::copy(history.begin(), history.end(), words + 1);
  return XXH3_64bits(words, (history.size() + 1) * sizeof *words);
}

ContextTree grow_tree(std::span<const std::vector<SymbolId>> sequences, uint32_t phases) {
  return Grower(sequences, phases).tree();
}

}  // namespace fsr
