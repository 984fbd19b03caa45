// SPDX-License-Identifier: Apache-2.0
// Tables of keywords: a row says all about one. They may be shortened to two or more letters that begin no other.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>

#include "workloads/vdbench/language/source_text.hpp"
#include "workloads/vdbench/language/values.hpp"

namespace fsr::vdbench {

template <class Settings>
struct Keyword {
  const char* name;
  void (*set)(Settings& settings, const Parameter& parameter);  // throws ParameterError; null: it is refused
  const char* why = "";                                         // of a refusal
};

// Throws ParameterError for what is unknown, ambiguous or refused.
template <class Settings>
void apply(std::span<const Keyword<Settings>> table, Settings& settings, const Parameter& parameter, const char* section) {
  const Keyword<Settings>* found = nullptr;
  std::string several;
  for (const Keyword<Settings>& keyword : table) {
    if (same_word(keyword.name, parameter.keyword)) {
      found = &keyword;
      several.clear();
      break;
    }
    if (parameter.keyword.size() < 2 || !begins_word(keyword.name, parameter.keyword)) continue;
    if (found) several += (several.empty() ? std::string(found->name) : "") + " or " + keyword.name;
    found = &keyword;
  }
  if (!several.empty())
    throw ParameterError(parameter.place, fmt::format("'{}' may mean several, expected {}", parameter.keyword, several));
  if (!found)
    throw ParameterError(parameter.place,
                         fmt::format("'{}' is not known here, expected a parameter of {}", parameter.keyword, section));
  if (!found->set) throw ParameterError(parameter.place, fmt::format("{}= is refused: {}", found->name, found->why));
  found->set(settings, parameter);
}

}  // namespace fsr::vdbench
