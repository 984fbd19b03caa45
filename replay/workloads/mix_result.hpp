// SPDX-License-Identifier: Apache-2.0
// Result of a mix by procedure: requested, issued, and seen on the wire. Plain data.
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

// Returns the increase from `before` to `after`, two states of the same counters.
ProcedureCounts added(const ProcedureCounts& before, const ProcedureCounts& after);

struct MixRow {
  std::string name;  // with a mix of version 2 or 3 on a wire of version 4: the operation sent instead
  double asked = 0;  // requested share, 0..1
  uint64_t issued = 0;
  uint64_t failed = 0;  // of the issued ones
  uint64_t wire = 0;
  double service = 0;                       // sum of the service times of calls that did not fail, ns
  double issued_share = 0, wire_share = 0;  // 0..1
};

// Deviation from the requested mix, counted as by nhfsstone: sums of the absolute differences, in percent of all calls.
struct MixDeviation {
  double total = 0;
  double largest = 0;  // deviation of one procedure, in percentage points
  std::string where;   // that procedure
};

struct MixResult {
  std::string dialect;             // origin of the mix, in words
  std::vector<std::string> notes;  // on the mixfile, and on what differs from the requested mix
  double load = 0;                 // requested calls per second; 0: as fast as possible
  bool missed = false;             // the calls took longer than the requested load allows
  std::vector<MixRow> rows;        // procedures that were requested, issued or seen
  std::vector<MixRow> procedures;  // the same calls under the names of the mix, whatever its version; without the wire
  uint64_t calls = 0;              // issued calls
  bool wire_known = false;
  uint64_t wire_calls = 0;      // requests in the rows
  uint64_t wire_internal = 0;   // requests outside the rows, which a client of version 4 adds by itself
  bool wire_comparable = true;  // false: the mix is of version 4, but the wire of an older one
  MixDeviation issued, wire;

  // The verdict of nhfsstone, on what it measured: the requests on the wire, if they are known and of the mix's version.
  // Otherwise on the issued calls.
  static constexpr double kMostDeviation = 10;  // percent
  const MixDeviation& deviation() const { return wire_known && wire_comparable ? wire : issued; }
  bool valid() const { return deviation().total <= kMostDeviation; }
};

// `before`, `after`: Target::requests() before and after the run.
MixResult mix_result(const MixPlan& plan, const std::vector<Dealt>& dealt, const RunResult& run, const ProcedureCounts& before,
                     const ProcedureCounts& after);

}  // namespace fsr
