// SPDX-License-Identifier: Apache-2.0
// Counts of a program, in rows that it names itself ("create", "4k random reads").
//
// Not thread-safe: each worker fills a Tally of its own, which is handed over as a whole and merged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

// Number of a row. The program numbers its rows from 0 without gaps.
using Row = uint32_t;
constexpr Row kUncounted = ~Row(0);

// One measured operation: due at `due`, issued at `from`, completed at `to`; ns on the clock of the run.
struct Sample {
  int64_t due, from, to;
  uint64_t bytes = 0;
  bool failed = false;
  int64_t recorded = -1;  // duration in the capture, ns; -1: not known
};

// Counts and times (ns) of one row. A failed operation adds to `failed` only, neither bytes nor times.
struct KindCounters {
  uint64_t count = 0, failed = 0, bytes = 0;
  double squares = 0;  // sum of the squares of the service times, for standard deviations
  Histogram service;   // from issue to completion; has sum, minimum and maximum
  Histogram response;  // from due to completion
  Histogram recorded;  // in the capture, of the operations whose duration there is known

  void add(const Sample& sample);
  void merge(const KindCounters& other);
};

class Tally {
 public:
  KindCounters& at(Row row);
  const KindCounters& operator[](Row row) const;  // empty if nothing was counted in the row
  Row rows() const { return Row(cells_.size()); }
  void merge(const Tally& other);

  // Save and load the counts for another process of the same program, on a machine of the same kind. If save() did not make the
  // bytes, load() throws std::runtime_error.
  std::string save() const;
  static Tally load(std::string_view saved);

 private:
  std::vector<KindCounters> cells_;
};

}  // namespace fsr
