// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "workloads/vdbench/files/java_random.hpp"
#include "workloads/vdbench/language/values.hpp"

namespace fsr::vdbench {

namespace {

constexpr std::pair<const char*, Section> kWords[] = {
    {"hd", Section::hosts},     {"rg", Section::storages},   {"sd", Section::storages}, {"fsd", Section::storages},
    {"wd", Section::workloads}, {"fwd", Section::workloads}, {"rd", Section::runs},
};

bool goes_on(const Statement& above, const Statement& line) {
  const Parameter& first = line.parameters[0];
  const Section own = section_of(first);
  if (own == Section::general) return true;
  const auto& parameters = above.parameters;
  return line.parameters.size() == 1 && own >= Section::storages && own < section_of(parameters[0]) &&
         std::none_of(parameters.begin(), parameters.end(),
                      [&](const Parameter& p) { return same_word(p.keyword, first.keyword); });
}

}  // namespace

Section section_of(const Parameter& first) {
  for (const auto& [word, section] : kWords)
    if (same_word(word, first.keyword)) return section;
  return Section::general;
}

std::vector<Statement> join_lines(const std::vector<Statement>& lines) {
  std::vector<Statement> joined;
  for (const Statement& line : lines) {
    const bool general = joined.empty() || section_of(joined.back().parameters[0]) == Section::general;
    if (!general && goes_on(joined.back(), line))
      joined.back().parameters.insert(joined.back().parameters.end(), line.parameters.begin(), line.parameters.end());
    else
      joined.push_back(line);
  }
  return joined;
}

std::vector<uint64_t> counted_numbers(const Statement& s) {
  std::vector<uint64_t> all;
  for (const Parameter& p : s.parameters) {
    if (!same_word(p.keyword, "count")) continue;
    if (p.values.size() != 2) throw ParameterError(p.position, "expected count=(FIRST,HOW MANY)");
    const uint64_t first = whole(p.values[0], 0, 1'000'000), many = whole(p.values[1], 1, 10'000);
    for (uint64_t i = 0; i < many; ++i) all.push_back(first + i);
  }
  return all;
}

std::string numbered(const std::string& mask, uint64_t n) {
  if (const size_t star = mask.find('*'); star != std::string::npos)
    return mask.substr(0, star) + std::to_string(n) + mask.substr(star + 1);
  const size_t percent = mask.find('%');
  const size_t end = percent == std::string::npos ? percent : mask.find_first_not_of("0123456789", percent + 1);
  if (end != std::string::npos && mask[end] == 'd' && end - percent <= 3) {
    const std::string digits = mask.substr(percent + 1, end - percent - 1);
    const size_t width = digits.empty() ? 0 : size_t(std::stoul(digits));
    const std::string number = digits.starts_with('0') ? fmt::format("{:0{}}", n, width) : fmt::format("{:{}}", n, width);
    return mask.substr(0, percent) + number + mask.substr(end + 1);
  }
  return mask + std::to_string(n);
}

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
