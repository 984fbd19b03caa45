// SPDX-License-Identifier: Apache-2.0
#include "cycle/condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "engine/limit.hpp"
#include "engine/run.hpp"
#include "inputs/input.hpp"
#include "measure/bound.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr double kBroken = 1e6;  // strain of a run that breaks the condition whatever was measured
constexpr double kMissing =
    0.01;  // share of the operations due; if more were not issued or not answered, the run breaks the condition

constexpr int64_t kLatePart = 10;  // 1/kLatePart of the schedule may pass after its end, before the last operations are issued

constexpr const char* kExpected = "expected a condition such as 'p99 < 10ms' or 'mean < 2ms and errors < 0.1%'";

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

// Returns the number of outcomes that are not as expected: failures and differences.
uint64_t wrong(const RunResult& run) {
  uint64_t n = 0;
  for (const KindResult& kind : run.kinds) n += std::max(kind.failed, kind.differed);
  return n;
}

double share(uint64_t part, uint64_t of) { return of ? double(part) / double(of) : 0; }

}  // namespace

Condition::Condition(std::string_view text) : text_(trimmed(text)) {
  constexpr std::string_view kAnd = " and ";
  for (std::string_view rest = text_;;) {
    const size_t at = rest.find(kAnd);
    bounds_.push_back(parse(rest.substr(0, at)));
    if (at == rest.npos) break;
    rest.remove_prefix(at + kAnd.size());
  }
  allows_errors_ = std::ranges::any_of(bounds_, [](const Bound& bound) { return bound.of == Bound::Of::errors; });
}

Condition::Bound Condition::parse(std::string_view text) {
  const size_t less = text.find('<');
  if (less == text.npos) refuse(text);
  const std::string_view name = trimmed(text.substr(0, less)), limit = trimmed(text.substr(less + 1));
  Bound bound{Bound::Of::errors, 0, 0, std::string(name)};
  if (name == "errors") {
    if (!limit.ends_with('%')) refuse(text);
    bound.limit = number(trimmed(limit.substr(0, limit.size() - 1)), text) / 100;
  } else {
    if (name == "mean")
      bound.of = Bound::Of::mean;
    else if (name == "max")
      bound.of = Bound::Of::max;
    else if (name.starts_with('p') && name.size() > 1)
      bound.of = Bound::Of::quantile, bound.quantile = number(name.substr(1), text) / 100;
    else
      refuse(text);
    // A limit needs a unit, because it could mean seconds or milliseconds.
    if (limit.empty() || (limit.back() >= '0' && limit.back() <= '9')) refuse(text);
    bound.limit = double(parse_duration(limit));
  }
  if (bound.limit <= 0 || bound.quantile < 0 || bound.quantile > 1) refuse(text);
  return bound;
}

double Condition::value(const Bound& bound, const RunResult& run) {
  switch (bound.of) {
    case Bound::Of::quantile:
      return double(run.response.quantile(bound.quantile));
    case Bound::Of::mean:
      return run.response.mean();
    case Bound::Of::max:
      return double(run.response.max());
    case Bound::Of::errors:
      return share(wrong(run) + run.unfinished, run.issued());
  }
  return 0;
}

double Condition::strain(const Bound& bound, const RunResult& run) {
  return unknown(bound, run) ? kBroken : value(bound, run) / bound.limit;
}

// True: the value is only a lower bound.
bool Condition::unknown(const Bound& bound, const RunResult& run) {
  switch (bound.of) {
    case Bound::Of::quantile:
      return is_lower_bound(run.response, run.open, bound.quantile);
    case Bound::Of::mean:
      return is_lower_bound_of_mean(run.response, run.open);
    case Bound::Of::max:
      return is_lower_bound(run.response, run.open, 1);
    case Bound::Of::errors:
      return false;
  }
  return false;
}

// Returns why a run breaks the condition, whatever its response times are. Empty: there is no such reason.
std::string Condition::broken(const RunResult& run) const {
  const uint64_t missing = run.overdue + run.unfinished;
  if (share(missing, run.due_in_all()) > kMissing)
    return fmt::format("{} of {} operations that were due were not {}", format_count(missing), format_count(run.due_in_all()),
                       run.overdue ? "issued" : "answered");
  // A schedule that is shorter than the limit can't make responses exceed it, however few operations a second are achieved.
  if (late_at_end(run) > run.planned / kLatePart)
    return fmt::format("a schedule of {} took {}", format_duration(run.planned), format_duration(run.elapsed));
  if (const uint64_t n = wrong(run); n && !allows_errors_)
    return fmt::format("{} of {} operations failed or differed", format_count(n), format_count(run.issued()));
  return "";
}

const Condition::Bound& Condition::worst(const RunResult& run) const {
  return *std::max_element(bounds_.begin(), bounds_.end(),
                           [&](const Bound& a, const Bound& b) { return strain(a, run) < strain(b, run); });
}

double Condition::strain(const RunResult& run) const { return broken(run).empty() ? strain(worst(run), run) : kBroken; }

RunLength Condition::least() const {
  // A share that rests on 25 operations is off by a fifth (one divided by the square root of their number). Near the limit of a
  // target, 5 % more load changes the share by far more.
  constexpr double kBeyond = 25;
  // If a load is 5 % too high, lateness grows by 5 % of the time elapsed. In a run of 40 times the
  // limit, the last operations are late by twice the limit. The average is the limit.
  constexpr double kTimesLimit = 40;
  RunLength least;
  for (const Bound& bound : bounds_) {
    const double share = bound.of == Bound::Of::errors ? bound.limit : 1 - bound.quantile;
    if (share > 0) least.operations = std::max(least.operations, uint64_t(std::round(kBeyond / share)));
    if (bound.of != Bound::Of::errors) least.time = std::max(least.time, int64_t(bound.limit * kTimesLimit));
  }
  return least;
}

std::string Condition::measured(const RunResult& run) const {
  if (const std::string why = broken(run); !why.empty()) return why;
  const Bound& bound = worst(run);
  const double is = value(bound, run);
  return bound.name + (unknown(bound, run) ? " > " : " ") +
         (bound.of == Bound::Of::errors ? fmt::format("{:.3g} %", is * 100) : format_duration(int64_t(is)));
}

}  // namespace fsr
