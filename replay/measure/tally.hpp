// SPDX-License-Identifier: Apache-2.0
// What a program counted, by rows that it names itself ("create", "4k random reads").
//
// Not thread-safe: each worker of a stage fills its own, which is handed over whole and merged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

// Where something counts: dense numbers from 0, given by the program.
using Row = uint32_t;
constexpr Row kUncounted = ~Row(0);

// One thing that was measured, from `from` (its issue) to `to`, planned for `due`; ns on the clock of the run.
struct Sample {
  int64_t due, from, to;
  uint64_t bytes = 0;
  bool failed = false;
};

// Times in ns. What failed is counted apart: it has neither bytes nor times here.
struct KindCounters {
  uint64_t count = 0, failed = 0, bytes = 0;
  double squares = 0;  // of the service times, for standard deviations
  Histogram service;   // from issue to completion; holds sum, least and most
  Histogram response;  // from the planned time to completion

  void add(const Sample& sample);
  void merge(const KindCounters& other);
};

class Tally {
 public:
  KindCounters& at(Row row);
  const KindCounters& operator[](Row row) const;  // an empty one where nothing counted
  Row rows() const { return Row(cells_.size()); }
  void merge(const Tally& other);

  // For another process of the same program, on a machine of the same kind. load() throws std::runtime_error for bytes that
  // save() did not make.
  std::string save() const;
  static Tally load(std::string_view saved);

 private:
  std::vector<KindCounters> cells_;
};

}  // namespace fsr
