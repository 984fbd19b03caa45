// SPDX-License-Identifier: Apache-2.0
// Assigns groups of threads to ranks.
#include <algorithm>
#include <climits>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "plan/trace_split.hpp"

namespace fsr {

namespace {

struct Group {
  uint64_t operations = 0;
  double load = 0;
};

// Number of waits between two groups, in both directions.
struct Affinity {
  uint32_t a = 0, b = 0;
  uint64_t waits = 0;
};

struct Shares {
  std::vector<unsigned> rank_of;  // by group
  double largest = 0;
};

class Dealer {
 public:
  Dealer(const std::vector<Group>& groups, const std::vector<Affinity>& affinities, unsigned ranks)
      : groups_(groups), affinities_(affinities), ranks_(ranks), joined_(groups.size()) {
    for (const Group& group : groups) {
      mean_ += group.load / ranks;
      busy_ += group.operations > 0;
    }
  }

  // Joins groups as long as their load stays within `most` of the mean load of a rank, then assigns them to ranks.
  Shares deal(double most) {
    join(most * mean_);
    return place();
  }
  double mean() const { return mean_; }

 private:
  uint32_t stands_for(uint32_t group) {
    while (joined_[group] != group) group = joined_[group] = joined_[joined_[group]];
    return group;
  }

  // Returns the waits between two groups, relative to the load of the smaller one. So a process of a few operations goes with the
  // process whose files these are about.
  double strength(uint32_t a, uint32_t b) const {
    return double(waits_[a].at(b)) / (1 + std::min(parts_[a].load, parts_[b].load));
  }

  void join(double most) {
    std::iota(joined_.begin(), joined_.end(), 0u);
    parts_ = groups_;
    waits_.assign(groups_.size(), {});
    using Pair = std::tuple<double, uint32_t, uint32_t>;  // the strongest first; equal ones in a fixed order
    std::priority_queue<Pair> pairs;
    for (const Affinity& affinity : affinities_) waits_[affinity.a][affinity.b] = waits_[affinity.b][affinity.a] = affinity.waits;
    for (const Affinity& affinity : affinities_) pairs.emplace(strength(affinity.a, affinity.b), affinity.a, affinity.b);
    size_t left = busy_;
    while (!pairs.empty() && left > ranks_) {
      auto [then, a, b] = pairs.top();
      pairs.pop();
      if (joined_[a] != a || joined_[b] != b || parts_[a].load + parts_[b].load > most) continue;
      const double now = strength(a, b);
      if (now < then) pairs.emplace(now, a, b);  // one of the groups has grown
      if (now != then) continue;
      if (waits_[a].size() < waits_[b].size()) std::swap(a, b);
      left -= parts_[a].operations > 0 && parts_[b].operations > 0;
      parts_[a].load += parts_[b].load;
      parts_[a].operations += parts_[b].operations;
      parts_[b] = {};
      joined_[b] = a;
      waits_[a].erase(b);
      for (const auto& [other, its] : std::exchange(waits_[b], {})) {
        if (other == a) continue;
        waits_[a][other] += its;
        waits_[other].erase(b);
        waits_[other][a] = waits_[a][other];
        pairs.emplace(strength(a, other), a, other);
      }
    }
  }

  Shares place() {
    std::vector<uint32_t> order;
    for (uint32_t group = 0; group < groups_.size(); ++group)
      if (joined_[group] == group) order.push_back(group);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return parts_[a].load > parts_[b].load; });
    std::vector<std::vector<std::pair<uint32_t, uint64_t>>> others(groups_.size());
    for (const Affinity& affinity : affinities_) {
      const uint32_t a = stands_for(affinity.a), b = stands_for(affinity.b);
      if (a == b) continue;
      others[a].emplace_back(b, affinity.waits);
      others[b].emplace_back(a, affinity.waits);
    }

    constexpr unsigned kNone = UINT_MAX;
    Shares shares{.rank_of = std::vector<unsigned>(groups_.size(), kNone)};
    std::vector<double> load(ranks_);
    std::vector<uint64_t> waits(ranks_);
    auto left = size_t(std::ranges::count_if(order, [this](uint32_t group) { return parts_[group].operations > 0; }));
    for (uint32_t group : order) {
      std::ranges::fill(waits, 0);
      for (const auto& [other, its] : others[group])
        if (shares.rank_of[other] != kNone) waits[shares.rank_of[other]] += its;
      const auto lightest = unsigned(std::ranges::min_element(load) - load.begin());
      unsigned best = kNone;
      for (unsigned rank = 0; rank < ranks_; ++rank) {
        if (load[rank] + parts_[group].load > TraceSplit::kMostLoad * mean_) continue;
        if (best == kNone || waits[rank] > waits[best] || (waits[rank] == waits[best] && load[rank] < load[best])) best = rank;
      }
      // Each rank gets at least one group, as long as there are groups.
      if (best == kNone || left <= size_t(std::ranges::count(load, 0.0))) best = lightest;
      left -= left > 0;
      shares.rank_of[group] = best;
      load[best] += parts_[group].load;
    }
    for (uint32_t group = 0; group < groups_.size(); ++group) shares.rank_of[group] = shares.rank_of[stands_for(group)];
    shares.largest = std::ranges::max(load);
    return shares;
  }

  const std::vector<Group>& groups_;
  const std::vector<Affinity>& affinities_;
  const unsigned ranks_;
  double mean_ = 0;
  size_t busy_ = 0;
  std::vector<uint32_t> joined_;  // index of a group closer to the one that stands for all joined ones
  // Both are indexed by the group that stands for all joined ones.
  std::vector<Group> parts_;
  std::vector<std::unordered_map<uint32_t, uint64_t>> waits_;
};

}  // namespace

std::vector<unsigned> SplitSurvey::share_out(unsigned ranks) {
  std::vector<Group> groups;
  std::unordered_map<uint32_t, uint32_t> index;
  std::vector<uint32_t> group_of_thread;
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    const auto [found, news] = index.try_emplace(group_of(i), uint32_t(groups.size()));
    if (news) groups.emplace_back();
    groups[found->second].operations += threads_[i].operations;
    groups[found->second].load += threads_[i].load;
    group_of_thread.push_back(found->second);
  }
  std::unordered_map<uint64_t, uint64_t> waits;
  for (const auto& [key, pair] : pairs_) {
    const uint32_t a = group_of_thread[key >> 32], b = group_of_thread[uint32_t(key)];
    if (a != b) waits[uint64_t(std::min(a, b)) << 32 | std::max(a, b)] += pair.waits;
  }
  std::vector<Affinity> affinities;
  for (const auto& [key, count] : waits) affinities.push_back({uint32_t(key >> 32), uint32_t(key), count});
  // Joined groups may be too large for an even distribution; then try again with a lower limit.
  Dealer dealer(groups, affinities, ranks);
  Shares best;
  for (double most : {TraceSplit::kMostLoad, 0.5, 0.25, 0.0}) {
    Shares shares = dealer.deal(most);
    if (best.rank_of.empty() || shares.largest < best.largest) best = std::move(shares);
    if (best.largest <= TraceSplit::kMostLoad * dealer.mean()) break;
  }
  for (uint32_t& group : group_of_thread) group = best.rank_of[group];
  return {group_of_thread.begin(), group_of_thread.end()};
}

}  // namespace fsr
