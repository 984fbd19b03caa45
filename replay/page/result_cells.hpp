// SPDX-License-Identifier: Apache-2.0
// Cells of pages about runs: counts, times and percentiles, each with the exact number that the results hold. No state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sql/results_reader.hpp"
#include "util/histogram.hpp"
#include "util/html_page.hpp"

namespace fsr::page {

using Cell = HtmlPage::Cell;

inline Cell count(int64_t n) { return count_cell(uint64_t(n)); }
inline Cell duration(int64_t ns) { return duration_cell(ns); }
inline Cell rate(double per_second) { return rate_cell(per_second); }
Cell ratio(int64_t is, int64_t was);  // empty if `was` is 0

// Names and columns of `run` of what describes the machine and the command.
inline constexpr std::pair<const char*, const char*> kEnvironment[] = {
    {"program", "program"},     {"host", "host"},
    {"kernel", "kernel"},       {"processors", "cpus"},
    {"processor", "cpu"},       {"input", "input"},
    {"trace", "trace_id"},      {"mix", "mix_dialect"},
    {"target", "target"},       {"target lies on", "target_mount"},
    {"directory", "directory"}, {"directory lies on", "directory_mount"},
    {"acting as", "uid"},       {"command", "command"}};

// Returns a text or a number of a row as text; empty if there is none.
std::string fact_text(const ResultRow& row, const char* column);

struct Quantile {
  const char *name, *column;
  double share;
};
inline constexpr Quantile kQuantiles[] = {{"p50", "p50_ns", 0.5},      {"p90", "p90_ns", 0.9},         {"p99", "p99_ns", 0.99},
                                          {"p99.9", "p999_ns", 0.999}, {"p99.99", "p9999_ns", 0.9999}, {"max", "max_ns", 1}};

// Response times of a run. An operation without an answer has a lower bound.
class Responses {
 public:
  Responses(ResultsReader& file, int64_t run);
  // Returns the cell of quantile `q`, marked if it is a lower bound. `ns`: its value in the results.
  Cell cell(double q, int64_t ns) const;
  Cell mean(double ns) const;
  bool is_bound(double q) const;  // true if quantile `q` is a lower bound

 private:
  const Histogram all_, open_;
};

// Returns the distribution `what` of one kind of operation, or of all (""). Null: there is none.
const ResultRow* distribution(const std::vector<ResultRow>& rows, std::string_view kind, std::string_view what);

}  // namespace fsr::page
