// SPDX-License-Identifier: Apache-2.0
// The result of a mix, procedure by procedure: requested, issued, and seen on the wire. Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/mix_dealer.hpp"
#include "workloads/mix_plan.hpp"
#include "workloads/wire_rows.hpp"

namespace fsr {

struct RunResult;

// Returns what was counted between two looks at the same counters.
ProcedureCounts added(const ProcedureCounts& before, const ProcedureCounts& after);

struct MixRow {
  std::string name;  // of a mix of version 2 or 3 on a wire of version 4: the operation sent in its place
  double asked = 0;  // share, 0..1
  uint64_t issued = 0;
  uint64_t failed = 0;  // of the issued ones
  uint64_t wire = 0;
  double service = 0;                       // sum of its service times, of those that did not fail, ns
  double issued_share = 0, wire_share = 0;  // 0..1
};

// Sums are over the absolute differences to what was asked, in percent of all calls: as nhfsstone counts them.
struct MixDeviation {
  double total = 0;
  double largest = 0;  // of one procedure, in percentage points
  std::string where;   // that procedure
};

struct MixResult {
  std::string dialect;             // where the mix comes from, in words
  std::vector<std::string> notes;  // about the mixfile, and what could not be as asked
  double load = 0;                 // asked, calls a second; 0: as fast as possible
  bool missed = false;             // the calls took longer than that load allows
  std::vector<MixRow> rows;        // asked for, issued, or seen
  uint64_t calls = 0;              // issued
  bool wire_known = false;
  uint64_t wire_calls = 0;      // of the rows
  uint64_t wire_internal = 0;   // beside those: what a client of version 4 adds by itself
  bool wire_comparable = true;  // false: the mix is of version 4, the wire of an older one
  MixDeviation issued, wire;

  // The original's verdict, on what it looked at: the wire, where that is known and of the mix's version.
  static constexpr double kMostDeviation = 10;  // percent
  const MixDeviation& deviation() const { return wire_known && wire_comparable ? wire : issued; }
  bool valid() const { return deviation().total <= kMostDeviation; }
};

// `before` and `after`: Target::requests() around the run.
MixResult mix_result(const MixPlan& plan, const std::vector<Dealt>& dealt, const RunResult& run, const ProcedureCounts& before,
                     const ProcedureCounts& after);

}  // namespace fsr
