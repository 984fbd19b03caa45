// SPDX-License-Identifier: Apache-2.0
#include "model/context_tree.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

namespace fsr {

namespace {

constexpr uint32_t kFewVisits = 3;  // a context that occurred less often is not kept

struct Node {
  uint32_t phase = 0;
  bool kept = false;
  std::vector<SymbolId> history;
  std::unordered_map<SymbolId, uint32_t> next;  // of all visits; then of those that no longer context has
  uint64_t visits = 0;
  double cost = 0;                              // bits
  std::unordered_map<SymbolId, uint32_t> last;  // the last ones of each sequence, by symbol
};

using Nodes = std::unordered_map<uint64_t, Node>;

// Calls `visit` with the phase, the history and the symbol of each step. The history of a process begins with the end of another.
template <class Visit>
void each_step(std::span<const std::vector<SymbolId>> sequences, uint32_t phases, Visit visit) {
  for (const std::vector<SymbolId>& s : sequences)
    for (size_t i = 0; i <= s.size(); ++i) {
      const uint32_t phase = uint32_t(std::min<size_t>(i * phases / std::max<size_t>(1, s.size()), phases - 1));
      SymbolId before[kMostHistory];
      size_t known = 0;
      for (size_t back = std::min(i + 1, kMostHistory); back > 0; --back)
        before[known++] = back > i ? kEndOfProcess : s[i - back];
      visit(phase, std::span<const SymbolId>(before, known), i < s.size() ? s[i] : kEndOfProcess);
    }
}

// Counts the contexts that occurred often enough to be kept. A rare context has no longer one that is not rare, so that memory
// follows what can be kept, and not the number of steps.
Nodes count(std::span<const std::vector<SymbolId>> sequences, uint32_t phases) {
  Nodes nodes;
  for (size_t length = 0; length <= kMostHistory; ++length) {
    const auto each_candidate = [&](auto visit) {
      each_step(sequences, phases, [&](uint32_t phase, std::span<const SymbolId> before, SymbolId symbol) {
        if (before.size() < length || (length > 0 && !nodes.contains(context_key(phase, before.last(length - 1))))) return;
        visit(phase, before.last(length), symbol);
      });
    };
    std::unordered_map<uint64_t, uint32_t> visits;
    each_candidate([&](uint32_t phase, std::span<const SymbolId> history, SymbolId) { ++visits[context_key(phase, history)]; });
    each_candidate([&](uint32_t phase, std::span<const SymbolId> history, SymbolId symbol) {
      const uint64_t key = context_key(phase, history);
      if (length > 0 && visits[key] < kFewVisits) return;
      Node& node = nodes[key];
      if (node.visits++ == 0) {
        node.phase = phase;
        node.history.assign(history.begin(), history.end());
      }
      ++node.next[symbol];
    });
  }
  return nodes;
}

// Returns the longest kept context that ends `history` and is shorter than `most`. The one without a history is always kept.
Node& longest_kept(Nodes& nodes, uint32_t phase, std::span<const SymbolId> history, size_t most) {
  for (size_t k = std::min(most, history.size() + 1); k-- > 1;)
    if (auto found = nodes.find(context_key(phase, history.last(k))); found != nodes.end() && found->second.kept)
      return found->second;
  return nodes.at(context_key(phase, {}));
}

// Bits that the context saves against a shorter one.
double saved_bits(const Node& node, const Node& shorter) {
  double bits = 0;
  for (const auto& [symbol, n] : node.next)
    bits += n * std::log2(double(n) / double(node.visits) / (double(shorter.next.at(symbol)) / double(shorter.visits)));
  return bits;
}

// Bits that the context costs beside the shorter one, in a tree of so many symbols.
double cost(const Node& node, const Node& shorter, size_t symbols) {
  return double(node.history.size() - shorter.history.size()) * std::log2(std::max(2.0, double(symbols))) +
         double(node.next.size()) * count_bits(shorter.next.size(), double(node.visits));
}

// Counts what followed when each sequence was in a context for the last time.
void count_last(Nodes& nodes, std::span<const std::vector<SymbolId>> sequences, uint32_t phases) {
  for (size_t i = 0; i < sequences.size(); ++i) {
    std::unordered_map<Node*, SymbolId> last;
    each_step(sequences.subspan(i, 1), phases, [&](uint32_t phase, std::span<const SymbolId> before, SymbolId symbol) {
      last[&longest_kept(nodes, phase, before, before.size() + 1)] = symbol;
    });
    for (const auto& [node, symbol] : last) ++node->last[symbol];
  }
}

// Returns the symbol that has the highest count; of equal ones the one with the lowest number.
SymbolId most_frequent(const std::unordered_map<SymbolId, uint32_t>& counts) {
  std::pair<uint32_t, SymbolId> best{0, kEndOfProcess};
  for (const auto& [symbol, n] : counts)
    if (n > best.first || (n == best.first && symbol < best.second)) best = {n, symbol};
  return best.second;
}

// Decides which contexts stay: first the short ones, so that each is compared with the one that would take its place.
void choose(Nodes& nodes, std::vector<Node*>& by_length, size_t symbols) {
  for (auto& [key, node] : nodes) by_length.push_back(&node);
  std::sort(by_length.begin(), by_length.end(), [](const Node* a, const Node* b) {
    if (a->history.size() != b->history.size()) return a->history.size() < b->history.size();
    return std::tie(a->phase, a->history) < std::tie(b->phase, b->history);
  });
  for (Node* node : by_length) {
    const Node* shorter = node->history.empty() ? node : &longest_kept(nodes, node->phase, node->history, node->history.size());
    node->kept = node == shorter || saved_bits(*node, *shorter) >= cost(*node, *shorter, symbols);
    node->cost =
        node == shorter ? double(node->next.size()) * count_bits(symbols, double(node->visits)) : cost(*node, *shorter, symbols);
  }
  std::erase_if(by_length, [](const Node* node) { return !node->kept; });
}

// Counts each step in the longest context that fits, and in no other one. A context that is then rare leaves its steps to a
// shorter one.
void count_once(Nodes& nodes, std::vector<Node*>& by_length, std::span<const std::vector<SymbolId>> sequences, uint32_t phases) {
  std::vector<std::vector<SymbolId>> of_phase(phases);  // symbols that occur in it
  for (Node* node : by_length) {
    if (node->history.empty())
      for (const auto& [symbol, n] : node->next) of_phase[node->phase].push_back(symbol);
    node->next.clear();
    node->visits = 0;
  }
  each_step(sequences, phases, [&](uint32_t phase, std::span<const SymbolId> before, SymbolId symbol) {
    Node& node = longest_kept(nodes, phase, before, before.size() + 1);
    ++node.visits;
    ++node.next[symbol];
  });
  for (auto at = by_length.rbegin(); at != by_length.rend(); ++at) {
    Node& node = **at;
    if (node.history.empty()) {
      // A history that never was may still come up when a step can't be made.
      if (node.visits == 0)
        for (SymbolId symbol : of_phase[node.phase]) node.visits += node.next[symbol] = 1;
    } else if (node.visits < kFewVisits) {
      node.kept = false;
      Node& heir = longest_kept(nodes, node.phase, node.history, node.history.size());
      heir.visits += node.visits;
      for (const auto& [symbol, n] : node.next) heir.next[symbol] += n;
    }
  }
  std::erase_if(by_length, [](const Node* node) { return !node->kept; });
}

}  // namespace

uint64_t context_key(uint32_t phase, std::span<const SymbolId> history) {
  uint32_t words[kMostHistory + 1] = {phase};
  std::copy(history.begin(), history.end(), words + 1);
  return XXH3_64bits(words, (history.size() + 1) * sizeof *words);
}

ContextTree grow_tree(std::span<const std::vector<SymbolId>> sequences, uint32_t phases) {
  Nodes nodes = count(sequences, phases);
  std::vector<Node*> kept;
  std::set<SymbolId> symbols{kEndOfProcess};
  for (const std::vector<SymbolId>& s : sequences) symbols.insert(s.begin(), s.end());
  choose(nodes, kept, symbols.size());
  count_once(nodes, kept, sequences, phases);
  count_last(nodes, sequences, phases);
  ContextTree tree{.phases = phases, .contexts = {}, .bits = 0};
  for (const Node* node : kept) {
    tree.bits += node->cost;
    for (const auto& [symbol, n] : node->next) tree.bits -= n * std::log2(double(n) / double(node->visits));
    ModelContext& context = tree.contexts.emplace_back(ModelContext{.phase = node->phase, .history = node->history, .next = {}});
    context.next.assign(node->next.begin(), node->next.end());
    std::sort(context.next.begin(), context.next.end());
    context.last = most_frequent(node->last.empty() ? node->next : node->last);
  }
  std::sort(tree.contexts.begin(), tree.contexts.end(), [](const ModelContext& a, const ModelContext& b) {
    return std::tie(a.phase, a.history) < std::tie(b.phase, b.history);
  });
  return tree;
}

}  // namespace fsr
