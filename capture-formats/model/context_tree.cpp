// SPDX-License-Identifier: Apache-2.0
#include "model/context_tree.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fsr {

namespace {

constexpr uint32_t kFewVisits = 3;     // a context that occurred less often is not kept
constexpr double kContextBits = 12;    // cost of a context,
constexpr double kTransitionBits = 8;  // and of each symbol that follows it

struct Node {
  uint32_t phase = 0;
  std::vector<SymbolId> history;
  std::unordered_map<SymbolId, uint32_t> next;
  uint64_t visits = 0;
};

using Nodes = std::unordered_map<uint64_t, Node>;

Nodes count(std::span<const std::vector<SymbolId>> sequences, uint32_t phases) {
  Nodes nodes;
  for (const std::vector<SymbolId>& s : sequences)
    for (size_t i = 0; i <= s.size(); ++i) {
      const uint32_t phase = uint32_t(std::min<size_t>(i * phases / std::max<size_t>(1, s.size()), phases - 1));
      // The history of a process begins with the end of another one.
      SymbolId before[kMostHistory];
      size_t known = 0;
      for (size_t back = std::min(i + 1, kMostHistory); back > 0; --back)
        before[known++] = back > i ? kEndOfProcess : s[i - back];
      for (size_t k = 0; k <= known; ++k) {
        const std::span<const SymbolId> history(before + known - k, k);
        Node& node = nodes[context_key(phase, history)];
        if (node.visits++ == 0) {
          node.phase = phase;
          node.history.assign(history.begin(), history.end());
        }
        ++node.next[i < s.size() ? s[i] : kEndOfProcess];
      }
    }
  return nodes;
}

// Bits that the context saves against the one whose history is a symbol shorter.
double saved_bits(const Node& node, const Node& shorter) {
  double bits = 0;
  for (const auto& [symbol, n] : node.next)
    bits += n * std::log2(double(n) / double(node.visits) / (double(shorter.next.at(symbol)) / double(shorter.visits)));
  return bits;
}

}  // namespace

uint64_t context_key(uint32_t phase, std::span<const SymbolId> history) {
  uint32_t words[kMostHistory + 1] = {phase};
  std::copy(history.begin(), history.end(), words + 1);
  return XXH3_64bits(words, (history.size() + 1) * sizeof *words);
}

ContextTree grow_tree(std::span<const std::vector<SymbolId>> sequences, uint32_t phases) {
  const Nodes nodes = count(sequences, phases);
  ContextTree tree{.phases = phases, .contexts = {}, .bits = 0};
  for (const auto& [key, node] : nodes) {
    const double cost = kContextBits + kTransitionBits * double(node.next.size());
    if (node.history.empty()) {
      for (const auto& [symbol, n] : node.next) tree.bits -= n * std::log2(double(n) / double(node.visits));
    } else {
      if (node.visits < kFewVisits) continue;
      const double saved = saved_bits(node, nodes.at(context_key(node.phase, std::span(node.history).subspan(1))));
      if (saved < cost) continue;
      tree.bits -= saved;
    }
    tree.bits += cost;
    ModelContext& context = tree.contexts.emplace_back(ModelContext{node.phase, node.history, {}});
    context.next.assign(node.next.begin(), node.next.end());
    std::sort(context.next.begin(), context.next.end());
  }
  std::sort(tree.contexts.begin(), tree.contexts.end(), [](const ModelContext& a, const ModelContext& b) {
    return std::tie(a.phase, a.history) < std::tie(b.phase, b.history);
  });
  return tree;
}

}  // namespace fsr
