// SPDX-License-Identifier: Apache-2.0
#include "report/requirement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

#include "engine/run.hpp"
#include "measure/bound.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

[[noreturn]] void refuse(std::string_view text, const char* expected) {
  throw std::invalid_argument(fmt::format("'{}': expected {}", escape_text(text), expected));
}

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(' ');
  return from == text.npos ? std::string_view() : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

// Parses a number. Negative: `text` is none.
double number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return -1;
  return value;
}

template <class Of>
uint64_t sum(const RunResult& run, Of of) {
  uint64_t n = 0;
  for (const KindResult& kind : run.kinds) n += of(kind);
  return n;
}

// True: the run issued nothing that has a response.
bool nothing_measured(const RunResult& run) { return run.response.count() == 0; }

}  // namespace

Requirement::Requirement(std::string_view text) : text_(trimmed(text)) {
  constexpr const char* kExpected = "such as 'p99 < 10ms', 'achieved >= 99%' or 'differed == 0'";
  const std::string_view all = text_;
  const size_t at = all.find_first_of("<>=");
  if (at == all.npos) refuse(text, kExpected);
  const size_t length = all.find_first_not_of("<>=", at) - at;
  name_ = trimmed(all.substr(0, at));
  operator_ = all.substr(at, length);
  if (operator_ != "<" && operator_ != "<=" && operator_ != ">" && operator_ != ">=" && operator_ != "==")
    refuse(text, kExpected);
  const std::string_view limit = trimmed(all.substr(std::min(all.size(), at + operator_.size())));
  if (limit.empty()) refuse(text, kExpected);

  static const std::map<std::string_view, Figure> kCounts{
      {"differed", Figure::differed},     {"failed", Figure::failed},   {"unanswered", Figure::unanswered},
      {"unfinished", Figure::unfinished}, {"overdue", Figure::overdue}, {"inexpressible", Figure::inexpressible}};
  if (name_ == "errors" || name_ == "achieved") {
    const bool share = limit.ends_with('%');
    if (name_ == "errors" && !share) refuse(text, "a share such as 'errors < 0.1%'");
    figure_ = name_ == "errors" ? Figure::errors : share ? Figure::achieved_share : Figure::achieved;
    if (!share) {
      // Without a unit, a forgotten percent sign would make a limit that any run meets.
      if (limit.find('/') == limit.npos) refuse(text, "a share or a rate such as 'achieved >= 99%' or 'achieved >= 2000/s'");
      limit_ = parse_rate(std::string(limit));
      return;
    }
    const double percent = number(trimmed(limit.substr(0, limit.size() - 1)));
    if (percent < 0) refuse(text, kExpected);
    limit_ = percent / 100;
  } else if (auto count = kCounts.find(name_); count != kCounts.end()) {
    figure_ = count->second;
    limit_ = number(limit);
    if (limit_ < 0) refuse(text, "a number such as 'differed == 0'");
  } else {
    const double percent = name_.starts_with('p') ? number(std::string_view(name_).substr(1)) : -1;
    if (name_ == "mean")
      figure_ = Figure::mean;
    else if (name_ == "max")
      quantile_ = 1;
    else if (percent >= 0 && percent <= 100)
      quantile_ = percent / 100;
    else
      refuse(
          text,
          "p50, p99 and so on, mean, max, errors, achieved, differed, failed, unanswered, unfinished, overdue or inexpressible");
    // A limit needs a unit, because it could mean seconds or milliseconds.
    if (limit.back() >= '0' && limit.back() <= '9') refuse(text, "a time with its unit, such as 'p99 < 10ms'");
    limit_ = double(parse_duration(std::string(limit)));
  }
}

double Requirement::value(const RunResult& run) const {
  switch (figure_) {
    case Figure::quantile:
      return double(run.response.quantile(quantile_));
    case Figure::mean:
      return run.response.mean();
    case Figure::errors: {
      const uint64_t wrong = sum(run, [](const KindResult& k) { return std::max(k.failed, k.differed); }) + run.unfinished;
      return double(wrong) / double(std::max<uint64_t>(1, run.issued()));
    }
    case Figure::achieved_share:
      return run.offered() > 0 ? run.achieved() / run.offered() : 0;
    case Figure::achieved:
      return run.achieved();
    case Figure::differed:
      return double(run.differed());
    case Figure::failed:
      return double(run.failed());
    case Figure::unanswered:
      return double(run.unanswered);
    case Figure::unfinished:
      return double(run.unfinished);
    case Figure::overdue:
      return double(run.overdue);
    case Figure::inexpressible:
      return double(sum(run, [](const KindResult& k) { return k.impossible; }));
  }
  return 0;
}

bool Requirement::is_lower_bound(const RunResult& run) const {
  if (figure_ == Figure::mean) return is_lower_bound_of_mean(run.response, run.open);
  return figure_ == Figure::quantile && fsr::is_lower_bound(run.response, run.open, quantile_);
}

std::string Requirement::shown(double value) const {
  switch (figure_) {
    case Figure::quantile:
    case Figure::mean:
      return format_duration(int64_t(value));
    case Figure::errors:
    case Figure::achieved_share:
      return fmt::format("{:.4g} %", value * 100);
    case Figure::achieved:
      return fmt::format("{:.1f}/s", value);
    default:
      return format_count(uint64_t(value));
  }
}

// Returns how many operations a percentile requires. With fewer operations the percentile equals the maximum, so a run that is
// too short to meet a slow operation would pass.
uint64_t Requirement::least_operations() const {
  return figure_ == Figure::quantile && quantile_ < 1 ? uint64_t(std::round(1 / (1 - quantile_))) : 0;
}

bool Requirement::compares(double value) const {
  if (operator_ == "<") return value < limit_;
  if (operator_ == "<=") return value <= limit_;
  if (operator_ == ">") return value > limit_;
  if (operator_ == ">=") return value >= limit_;
  return value == limit_;
}

std::string Requirement::missed(const RunResult& run) const {
  if ((figure_ <= Figure::achieved) && nothing_measured(run)) return "nothing was measured";
  if (figure_ == Figure::achieved_share && run.offered() <= 0) return "no load was offered, because this run has no schedule";
  if (const uint64_t least = least_operations(); run.response.count() < least && !operator_.starts_with('>'))
    return fmt::format("{} is unknown: {} operations, at least {} are required", name_, format_count(run.response.count()),
                       format_count(least));
  const double is = value(run);
  const bool bound = is_lower_bound(run), wants_more = operator_.starts_with('>');
  if (compares(is) && (!bound || wants_more)) return "";
  return fmt::format("{} is {}{}", name_, bound ? "at least " : "", shown(is));
}

}  // namespace fsr
