// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/language/values.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

namespace fsr::vdbench {

namespace {

constexpr size_t kMostNumbers = 10'000;  // numbers that a range may consist of

char lower(char c) { return char(std::tolower(static_cast<unsigned char>(c))); }

[[noreturn]] void fail(const Value& value, const std::string& what) { throw ParameterError(value.position, what); }

double factor(std::string suffix, Unit unit, bool* percent) {
  for (char& c : suffix) c = lower(c);
  *percent = suffix == "%";
  if (suffix.empty() || *percent) return 1;
  if (suffix == "h") return 3600;
  if (unit == Unit::time) return suffix == "m" ? 60 : suffix == "s" ? 1 : 0;
  if (suffix.size() == 2 && suffix[1] == 'b') suffix.pop_back();
  constexpr std::string_view kUnits = "kmgt";
  const size_t power = suffix.size() == 1 ? kUnits.find(suffix[0]) : std::string_view::npos;
  return power == std::string_view::npos ? 0 : std::pow(1024, double(power + 1));
}

std::optional<Number> try_number(const Value& value, Unit unit) {
  Number number{.text = value.text};
  const char* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, number.value, std::chars_format::fixed);
  if (value.quoted || error != std::errc() || !std::isfinite(number.value)) return {};
  const double times = factor({stop, end}, unit, &number.percent);
  if (times == 0) return {};
  number.value *= times;
  return number;
}

// Splits "1k-4k" into two numbers. None: it is no such range.
std::optional<std::pair<Number, Number>> try_range(const Value& value, Unit unit) {
  const size_t dash = value.text.find('-', 1);
  if (dash == std::string::npos) return {};
  const auto low = try_number({value.text.substr(0, dash), value.position}, unit);
  const auto high = try_number({value.text.substr(dash + 1), value.position}, unit);
  if (!low || !high) return {};
  return {{*low, *high}};
}

void check_count(const Parameter& parameter, size_t count) {
  if (count > kMostNumbers)
    throw ParameterError(parameter.position, "{}: expected at most {} values", parameter.keyword, kMostNumbers);
}

std::vector<Number> doubled(const Parameter& parameter, Number from, const Number& to) {
  if (from.value <= 0 || to.value <= 0)
    throw ParameterError(parameter.values[0].position, "expected numbers above 0 to double or halve");
  std::vector<Number> all;
  const bool up = to.value >= from.value;
  for (double v = from.value; up ? v <= to.value : v >= to.value; v = up ? v * 2 : v / 2) {
    check_count(parameter, all.size());
    all.push_back({v, from.percent, size_text(v)});
  }
  return all;
}

std::vector<Number> stepped(const Parameter& parameter, const Number& from, const Number& to, const Number& step) {
  if (step.value <= 0) throw ParameterError(parameter.values[1].position, "expected a step above 0");
  std::vector<Number> all;
  double v = from.value;
  do {
    check_count(parameter, all.size());
    all.push_back({v, from.percent, size_text(v)});
    v += step.value;
  } while (v <= to.value);
  return all;
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) { return a.size() == b.size() && begins_word(a, b); }

bool begins_word(std::string_view whole, std::string_view begin) {
  return begin.size() <= whole.size() &&
         std::equal(begin.begin(), begin.end(), whole.begin(), [](char a, char b) { return lower(a) == lower(b); });
}

std::string size_text(double bytes) {
  constexpr std::string_view kUnits = "kmgt";
  std::string text = fmt::format("{:g}", bytes);
  if (bytes == std::floor(bytes) && std::fabs(bytes) < 1e15) text = fmt::format("{:.0f}", bytes);
  for (size_t i = 0; i < kUnits.size(); ++i) {
    const double unit = std::pow(1024, double(i + 1));
    if (bytes >= unit && std::fmod(bytes, unit) == 0) text = fmt::format("{:.0f}{}", bytes / unit, kUnits[i]);
  }
  return text;
}

Number number(const Value& value, Unit unit) {
  if (auto it = try_number(value, unit)) return *it;
  fail(value, fmt::format("'{}': expected a number{}", value.text,
                          unit == Unit::time ? " of seconds, or with m or h" : ", perhaps with k, m, g, t or %"));
}

std::vector<Number> numbers(const Parameter& parameter, Unit unit) {
  const std::vector<Value>& v = parameter.values;
  if (v.size() == 3 && same_word(v[2].text, "d")) return doubled(parameter, number(v[0], unit), number(v[1], unit));
  if (const auto range = try_range(v[0], unit)) {
    if (v.size() != 2) fail(v[0], "expected a range and its step, as (1-10,1), or (1-64,d) to double");
    if (same_word(v[1].text, "d")) return doubled(parameter, range->first, range->second);
    return stepped(parameter, range->first, range->second, number(v[1], unit));
  }
  std::vector<Number> all;
  for (const Value& value : v) all.push_back(number(value, unit));
  return all;
}

const Value& single(const Parameter& parameter) {
  if (parameter.values.size() > 1) fail(parameter.values[1], fmt::format("expected one value of {}", parameter.keyword));
  return parameter.values[0];
}

std::optional<uint64_t> whole_part(const Number& number, uint64_t least, uint64_t most) {
  const bool has_unit = !std::isdigit(static_cast<unsigned char>(number.text.back()));
  const double n = has_unit ? std::floor(number.value) : number.value;
  if (number.percent || n != std::floor(n) || n < double(least) || n > double(most)) return {};
  return uint64_t(n);
}

uint64_t whole(const Value& value, uint64_t least, uint64_t most, Unit unit) {
  const auto n = whole_part(number(value, unit), least, most);
  if (!n)
    fail(value, fmt::format("'{}' is out of range, expected a whole number from {} to {}", value.text, size_text(double(least)),
                            size_text(double(most))));
  return *n;
}

uint64_t whole(const Parameter& parameter, uint64_t least, uint64_t most, Unit unit) {
  return whole(single(parameter), least, most, unit);
}

double within(const Parameter& parameter, double least, double most, Unit unit) {
  const Number n = number(single(parameter), unit);
  if (n.value < least || n.value > most)
    fail(parameter.values[0],
         fmt::format("'{}' is out of range, expected a number from {:g} to {:g}", parameter.values[0].text, least, most));
  return n.value;
}

bool yes_or_no(const Parameter& parameter) { return one_of(single(parameter), {"no", "yes"}) == 1; }

size_t one_of(const Value& value, const std::vector<const char*>& words) {
  for (size_t i = 0; i < words.size(); ++i)
    if (same_word(words[i], value.text)) return i;
  std::string expected;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool one_letter_does = same_word(words[i], "no") || same_word(words[i], "yes");
    if (value.text.size() >= (one_letter_does ? 1 : 2) && begins_word(words[i], value.text)) return i;
    expected += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
  }
  fail(value, fmt::format("'{}' is not known here, expected {}", value.text, expected));
}

namespace {

// True if `name` is in a range such as "sd1" to "sd9": the same letters, then numbers.
bool in_range(const std::string& name, std::string_view from, std::string_view to) {
  auto split = [](std::string_view text) {
    size_t digits = text.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(text[digits - 1]))) --digits;
    uint64_t n = 0;
    std::from_chars(text.data() + digits, text.data() + text.size(), n);
    return std::pair(std::string(text.substr(0, digits)), n);
  };
  const auto [letters, n] = split(name);
  const auto [first_letters, first] = split(from);
  const auto [last_letters, last] = split(to);
  return name != letters && same_word(letters, first_letters) && same_word(letters, last_letters) && n >= first && n <= last;
}

bool means(const std::string& pattern, const std::string& name) {
  if (same_word(pattern, name)) return true;
  if (pattern.find_first_of("*?") != std::string::npos) return fnmatch(pattern.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
  const size_t dash = pattern.find('-');
  return dash != std::string::npos &&
         in_range(name, std::string_view(pattern).substr(0, dash), std::string_view(pattern).substr(dash + 1));
}

}  // namespace

std::vector<size_t> resolve(const Parameter& parameter, const std::vector<std::string>& defined, const char* what) {
  std::vector<size_t> found;
  for (const Value& value : parameter.values) {
    bool any = false;
    for (size_t i = 0; i < defined.size(); ++i) {
      if (!means(value.text, defined[i])) continue;
      any = true;
      if (std::find(found.begin(), found.end(), i) == found.end()) found.push_back(i);
    }
    if (!any)
      throw UnknownName(value.position, "no {} is named '{}', expected the name of one that is defined above", what, value.text);
  }
  return found;
}

}  // namespace fsr::vdbench
