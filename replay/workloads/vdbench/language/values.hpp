// SPDX-License-Identifier: Apache-2.0
// Functions that interpret values: numbers with units, lists, ranges and doublings, names with wildcards. All throw
// ParameterError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/vdbench/language/source_text.hpp"

namespace fsr::vdbench {

// Units of numbers: k, m, g and t are powers of 1024; in times, m and h are minutes and hours.
enum class Unit : uint8_t { count, time };

// A name that no definition has. It may follow from a statement that was lost.
struct UnknownName : ParameterError {
  using ParameterError::ParameterError;
};

struct Number {
  double value = 0;
  bool percent = false;
  std::string text;  // as typed, or as generated from a range
};

bool same_word(std::string_view a, std::string_view b);            // ignores case
bool begins_word(std::string_view whole, std::string_view begin);  // ignores case

Number number(const Value& value, Unit unit = Unit::count);
// Reads "(1,2,3)", "(1-10,1)", "(1-64,d)", "(64-1,d)", "(64,1,d)".
std::vector<Number> numbers(const Parameter& parameter, Unit unit = Unit::count);

const Value& single(const Parameter& parameter);  // returns the only value; throws if there are several
// Returns the whole part of a number; "1.1g" is rounded down. None: it is out of bounds, which are inclusive.
std::optional<uint64_t> whole_part(const Number& number, uint64_t least, uint64_t most);
uint64_t whole(const Value& value, uint64_t least, uint64_t most, Unit unit = Unit::count);
uint64_t whole(const Parameter& parameter, uint64_t least, uint64_t most, Unit unit = Unit::count);
double within(const Parameter& parameter, double least, double most, Unit unit = Unit::count);
bool yes_or_no(const Parameter& parameter);
// Returns the index in `words` of the word. It may be shortened to its first two letters, yes and no to one. The message says
// "expected a, b or c".
size_t one_of(const Value& value, const std::vector<const char*>& words);
std::string size_text(double bytes);  // returns "4k", "1m", "1000"

// Returns the indices of the defined names in a list of names, ranges (sd1-sd9) and wildcards (sd*), each once, in their order.
// `what`: word for them in messages.
std::vector<size_t> resolve(const Parameter& parameter, const std::vector<std::string>& defined, const char* what);

}  // namespace fsr::vdbench
