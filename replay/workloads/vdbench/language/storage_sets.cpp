// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/storage_sets.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "workloads/vdbench/files/java_random.hpp"

namespace fsr::vdbench {

namespace {

constexpr std::string_view kSetsOf = "setsof";

// Returns the order in which 5.04 takes SDs for sets: it swaps SDs drawn by java.util.Random(0), eight times as often as there
// are SDs.
std::vector<size_t> shuffled(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  JavaRandom random(0);
  for (size_t i = 0; i < 8 * count; ++i) {
    const auto one = size_t(random.below(int32_t(count))), other = size_t(random.below(int32_t(count)));
    std::swap(order[one], order[other]);
  }
  return order;
}

}  // namespace

std::optional<std::vector<StorageSet>> storage_sets(const Parameter& sd, const std::vector<std::string>& names) {
  const std::string& word = sd.values[0].text;
  const bool single = same_word(word, "single"), range = same_word(word, "range"), sets = begins_word(word, kSetsOf);
  const bool is_name = std::ranges::any_of(names, [&](const std::string& name) { return same_word(name, word); });
  if (is_name || sd.values.size() != 1 || !(single || range || sets)) return {};
  std::vector<StorageSet> all;
  if (range) {
    for (size_t last = 0; last < names.size(); ++last) {
      StorageSet set{"_" + names[0] + "-" + names[last], std::vector<size_t>(last + 1)};
      std::iota(set.storages.begin(), set.storages.end(), 0);
      all.push_back(std::move(set));
    }
    return all;
  }
  const uint64_t size = single ? 1 : whole(Value{word.substr(kSetsOf.size()), sd.values[0].position}, 1, 1'000'000);
  std::vector<size_t> order = shuffled(names.size());
  if (size == 1) std::ranges::sort(order);
  for (size_t at = 0; at < order.size(); ++at) {
    if (at % size == 0) all.emplace_back();
    all.back().suffix += "_" + names[order[at]];
    all.back().storages.push_back(order[at]);
  }
  return all;
}

}  // namespace fsr::vdbench
