// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/sections.hpp"

#include <algorithm>
#include <utility>

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

}  // namespace fsr::vdbench
