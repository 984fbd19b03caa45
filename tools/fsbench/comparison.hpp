// SPDX-License-Identifier: Apache-2.0
// Results of fsbench compare: each value that the program measured, by target and round. Constant once it is reported.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compared_program.hpp"
#include "measure/paired.hpp"
#include "sql/results.hpp"

namespace fsr::fsbench {

struct ComparedRow {
  std::string name, unit;
  bool is_time = false;
  std::vector<std::vector<double>> rates;  // by target, then by round; 0: not measured in that round
  std::vector<bool> kept;                  // by target: each round had the offered load
  std::vector<bool> bounds;                // by target: some round has only a lower bound of the time, because calls got no reply

  // Returns the speeds of the first target and of `target`, in the rounds that measured both. The speed of a time is its inverse.
  // Times are milliseconds, and percentiles of a Histogram.
  std::vector<RatePair> pairs(size_t target) const;
  // Returns true if both targets kept an offered load. Their rates are then equal by request, and say nothing about the targets.
  bool has_offered_load(size_t target) const { return kept[0] && kept[target]; }
  bool has_bounds(size_t target) const { return bounds[0] || bounds[target]; }
  // True: the row has a verdict for this target, because both targets have measured it, and not with a load that both kept. Lower
  // bounds of times get no verdict, because the times are not known.
  bool is_judged(size_t target) const;
  // Returns the result of paired_ratio() for pairs(), as a ratio of the measured values.
  PairedRatio ratio_of_values(size_t target) const;
};

struct Decision {
  bool shown = false;  // true: the difference is significant
  double level = 0;    // the p that would show one after further rounds, if this is the next comparison to be decided
};

struct Comparison {
  Facts origin;                            // time and place, as in a results database
  double load_before = 0, load_after = 0;  // average over the last minute, for all processors of this machine
  std::vector<NamedText> files;
  std::string program;  // the command line without the target
  std::vector<std::string> targets;
  std::vector<std::string> through;  // client and cache in front of each target
  std::string caches;                // text on the caches that were dropped between runs
  std::string added;                 // options that the program got in addition to the given ones, and the reason; empty: none
  unsigned asked = 0, rounds = 0;
  std::vector<ComparedRow> rows;
  std::vector<std::string> complaints;  // runs that failed, one line each
  bool may_end_early = false, interrupted = false;
  bool kept = false;   // true: series that were kept earlier, instead of rounds on the targets in turn
  std::string broken;  // error of a run without results, which ended the comparison; empty: none

  // Returns the place of a target in a round, both from 0. The order turns, so that a drift favours no target.
  size_t place_in(size_t round, size_t target) const { return round % 2 ? targets.size() - 1 - target : target; }
  void add(size_t target, const ProgramRun& run);  // adds a run of the current round, number `rounds`
  // Returns for each row, and in it for each target except the first, whether there is a significant difference. All together are
  // right with 95 %, also if the comparison ends as soon as all rates are decided.
  std::vector<std::vector<Decision>> decisions() const;
  // True: every rate of every target has a verdict, except for loads that were kept.
  bool all_decided() const;

  // The outputs consist of whole lines.
  std::string text() const;
  std::string html() const;
  nlohmann::json json() const;
  void database(ResultsDatabase& results) const;  // throws std::runtime_error
};

}  // namespace fsr::fsbench
