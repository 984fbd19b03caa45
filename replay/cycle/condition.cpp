// SPDX-License-Identifier: Apache-2.0
#include "cycle/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "engine/run.hpp"
#include "inputs/input.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr const char* kExpected = "expected such as 'p99 < 10ms' or 'mean < 2ms and errors < 0.1%'";

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument(fmt::format("'{}': {}", escape_text(text), kExpected));
}

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(' ');
  return from == text.npos ? std::string_view() : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

double number(std::string_view text, std::string_view whole) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse(whole);
  return value;
}

}  // namespace

Condition::Condition(std::string_view text) : text_(trimmed(text)) {
  constexpr std::string_view kAnd = " and ";
  for (std::string_view rest = text_;;) {
    const size_t at = rest.find(kAnd);
    terms_.push_back(parse(rest.substr(0, at)));
    if (at == rest.npos) return;
    rest.remove_prefix(at + kAnd.size());
  }
}

Condition::Term Condition::parse(std::string_view text) {
  const size_t less = text.find('<');
  if (less == text.npos) refuse(text);
  const std::string_view name = trimmed(text.substr(0, less)), limit = trimmed(text.substr(less + 1));
  Term term{Term::Of::errors, 0, 0, std::string(name)};
  if (name == "errors") {
    if (!limit.ends_with('%')) refuse(text);
    term.limit = number(trimmed(limit.substr(0, limit.size() - 1)), text) / 100;
  } else {
    if (name == "mean")
      term.of = Term::Of::mean;
    else if (name == "max")
      term.of = Term::Of::max;
    else if (name.starts_with('p') && name.size() > 1)
      term.of = Term::Of::quantile, term.quantile = number(name.substr(1), text) / 100;
    else
      refuse(text);
    term.limit = double(parse_duration(limit));
  }
  if (term.limit <= 0 || term.quantile < 0 || term.quantile > 1) refuse(text);
  return term;
}

double Condition::value(const Term& term, const RunResult& run) {
  switch (term.of) {
    case Term::Of::quantile:
      return double(run.response.quantile(term.quantile));
    case Term::Of::mean:
      return run.response.mean();
    case Term::Of::max:
      return double(run.response.max());
    case Term::Of::errors:
      return run.issued() ? double(run.failed()) / double(run.issued()) : 0;
  }
  return 0;
}

const Condition::Term& Condition::worst(const RunResult& run) const {
  return *std::max_element(terms_.begin(), terms_.end(),
                           [&](const Term& a, const Term& b) { return value(a, run) / a.limit < value(b, run) / b.limit; });
}

double Condition::strain(const RunResult& run) const {
  const Term& term = worst(run);
  return value(term, run) / term.limit;
}

RunLength Condition::least() const {
  // A share that rests on 25 operations is off by a fifth (the square root of their number), far less than what a twentieth more
  // load makes of it where a target is near its limit.
  constexpr double kBeyond = 25;
  // A load that is a twentieth too high makes operations later by a twentieth of the time gone: twice as late as the limit at the
  // end, and as late on average.
  constexpr double kTimesLimit = 40;
  RunLength least;
  for (const Term& term : terms_) {
    const double share = term.of == Term::Of::errors ? term.limit : 1 - term.quantile;
    if (share > 0) least.operations = std::max(least.operations, uint64_t(std::round(kBeyond / share)));
    if (term.of != Term::Of::errors) least.time = std::max(least.time, int64_t(term.limit * kTimesLimit));
  }
  return least;
}

std::string Condition::measured(const RunResult& run) const {
  const Term& term = worst(run);
  const double is = value(term, run);
  return term.name + " " + (term.of == Term::Of::errors ? fmt::format("{:.3g} %", is * 100) : format_duration(int64_t(is)));
}

}  // namespace fsr
