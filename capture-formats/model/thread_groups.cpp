// SPDX-License-Identifier: Apache-2.0
#include "model/thread_groups.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "model/context_tree.hpp"

namespace fsr {

namespace {

using Deed = std::tuple<OpKind, uint16_t, uint8_t, Extent>;  // kind, error, type, extent
using DeedCounts = std::map<Deed, double>;

struct Group {
  DeedCounts counts;
  double sum = 0;
  std::vector<size_t> members;
};

// Bits that the thread takes more with the counts of the group than with its own.
double excess_bits(const DeedCounts& counts, double sum, const Group& group) {
  constexpr double kUnseen = 0.5;  // count of what the group does not have (Krichevsky and Trofimov, 1981)
  double bits = 0;
  for (const auto& [what, n] : counts) {
    auto found = group.counts.find(what);
    const double there = found == group.counts.end() ? kUnseen : found->second;
    bits += n * std::log2(n / sum / (there / (group.sum + kUnseen)));
  }
  return bits;
}

}  // namespace

std::vector<std::vector<size_t>> alike_threads(const std::vector<LearnedThread>& threads, const std::vector<size_t>& members,
                                               const std::vector<Symbol>& symbols) {
  const auto deed = [&](const LearnedStep& step) {
    const Symbol& s = symbols[step.symbol - 1];
    return Deed(s.kind, s.error, s.type, s.extent);
  };
  std::set<Deed> deeds;
  for (size_t i : members)
    for (const LearnedStep& step : threads[i].steps) deeds.insert(deed(step));
  std::vector<Group> groups;
  for (size_t i : members) {
    DeedCounts counts;
    for (const LearnedStep& step : threads[i].steps) ++counts[deed(step)];
    const auto sum = double(threads[i].steps.size());
    Group* best = nullptr;
    double least = groups.empty() ? -1 : double(counts.size()) * count_bits(deeds.size(), sum);
    for (Group& g : groups)
      if (const double bits = excess_bits(counts, sum, g); bits <= least) {
        least = bits;
        best = &g;
      }
    if (!best) best = &groups.emplace_back();
    for (const auto& [what, n] : counts) best->counts[what] += n;
    best->sum += sum;
    best->members.push_back(i);
  }
  std::vector<std::vector<size_t>> out;
  for (Group& g : groups) out.push_back(std::move(g.members));
  return out;
}

}  // namespace fsr
