// SPDX-License-Identifier: Apache-2.0
// Tables of keywords, with one row each. A keyword may be shortened to two letters or more. An ambiguous word is the first
// keyword that fits, as in 5.04; the tables have the order of 5.04.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "workloads/vdbench/language/settings.hpp"
#include "workloads/vdbench/language/source_text.hpp"
#include "workloads/vdbench/language/values.hpp"

namespace fsr::vdbench {

// Reasons for refusing keywords.
inline constexpr const char
    *kJava = "this program can't load classes of Java",
    *kForAll = "a general parameter, because all SDs or FSDs have the same",
    *kReplay = "the format of Swat's traces is not public; fsreplay TRACE replays the traces of fsshim and of other programs",
    *kShown = "fsshim capture records every operation instead";

// True if the keyword of `parameter` is short for `name`, as "th" is for "threads".
inline bool is_short_for(const Parameter& parameter, std::string_view name) {
  return parameter.keyword.size() >= 2 && begins_word(name, parameter.keyword);
}

template <class Settings>
struct Keyword {
  const char* names;                                            // separated by blanks; they mean the same
  void (*set)(Settings& settings, const Parameter& parameter);  // throws ParameterError; null: the keyword is refused
  const char* why = "";                                         // reason of a refusal
};

// True if the table has a keyword of this name, which is not shortened.
template <class Settings>
bool has_keyword(std::span<const Keyword<Settings>> table, std::string_view name) {
  return std::ranges::any_of(table, [&](const Keyword<Settings>& keyword) {
    std::istringstream names(keyword.names);
    return std::any_of(std::istream_iterator<std::string>(names), {},
                       [&](const std::string& one) { return same_word(one, name); });
  });
}

// Throws ParameterError if the keyword is unknown or refused.
template <class Settings>
void apply(std::span<const Keyword<Settings>> table, Settings& settings, const Parameter& parameter, const char* section) {
  const Keyword<Settings>* found = nullptr;
  bool same = false;
  for (auto keyword = table.begin(); keyword != table.end() && !same; ++keyword) {
    std::istringstream names(keyword->names);
    for (std::string name; !same && names >> name;)
      if ((same = same_word(name, parameter.keyword)) || (!found && is_short_for(parameter, name))) found = &*keyword;
  }
  if (!found)
    throw ParameterError(parameter.position, "'{}' is not known here, expected a parameter of {}", parameter.keyword, section);
  if (!found->set) throw ParameterError(parameter.position, "{}= is refused: {}", found->names, found->why);
  found->set(settings, parameter);
}

// The keywords of each section. References to other definitions are resolved later, by code that knows these definitions.
std::span<const Keyword<General>> general_keywords();
std::span<const Keyword<Storage>> storage_keywords();
std::span<const Keyword<Workload>> workload_keywords();
std::span<const Keyword<FileSystem>> file_system_keywords();
std::span<const Keyword<FileWorkload>> file_workload_keywords();
std::span<const Keyword<Run>> run_keywords();
// Sets iorate= or fwdrate=, if it is present. Call this after all other keywords, because its meaning depends on distribution=,
// which may follow it.
void set_rate(Run& run, const Parameter* rate);
void place_rates(Run& run, const Parameter& p);  // remembers the position of fwdrate= among the loops, for set_rate()

}  // namespace fsr::vdbench
