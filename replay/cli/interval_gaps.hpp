// SPDX-License-Identifier: Apache-2.0
// Parts of ranks that are missing in the merged intervals of a run.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sql/results.hpp"

namespace fsr {

struct IntervalGaps {
  struct OfRank {
    uint64_t intervals = 0;    // number of intervals that lack the rank
    int64_t from = 0, to = 0;  // start of the first one and end of the last one, ns since the start of the run
  };
  std::map<unsigned, OfRank> ranks;  // ranks that are missing somewhere
  uint64_t intervals = 0;            // number of all intervals
  uint64_t lacking = 0;              // intervals that lack at least one rank
  uint64_t late = 0;                 // parts that came after their interval was reported, and count in a later one
  uint64_t nowhere = 0;              // operations of the totals that are in no interval
  std::vector<uint64_t> operations;  // operations that did not fail in all intervals, by rank

  void add(unsigned rank, int64_t interval_from, int64_t interval_to);
  // Compares the intervals with `in_total`: operations of the rank's results that did not fail. Parts may have come after the
  // last interval, or been lost with the rank that was to pass them on.
  void compare(unsigned rank, uint64_t in_total);
  // `hosts`: by rank. `left`: by rank, true if its results are in the totals.
  std::string text(const std::vector<std::string>& hosts) const;  // whole lines; empty: no rank is missing anywhere
  std::vector<std::string> reasons(const std::vector<std::string>& hosts, const std::vector<bool>& left) const;
  std::vector<Facts> facts(const std::vector<std::string>& hosts) const;  // a row for each rank that is missing somewhere
  uint64_t operations_of_lost(const std::vector<bool>& left) const;
};

}  // namespace fsr
