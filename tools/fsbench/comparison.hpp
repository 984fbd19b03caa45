// SPDX-License-Identifier: Apache-2.0
// The results of fsbench compare: each value that the program measured, on each target, round by round. Constant once it is
// reported.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compare_runs.hpp"
#include "measure/paired.hpp"
#include "sql/results.hpp"

namespace fsr::fsbench {

struct ComparedRow {
  std::string name, unit;
  bool is_time = false;
  std::vector<std::vector<double>> rates;  // by target, then by round; 0: not measured in that round
  std::vector<bool> kept;                  // by target: each round had the load that was offered
  std::vector<bool> bounds;                // by target: a lower bound of a time in some round, because calls got no answer

  // Speeds in the rounds that measured the thing on both; the first target against another. The speed of a time is its inverse.
  std::vector<RatePair> pairs(size_t target) const;
  // Returns true if both targets kept an offered load: their rates are equal by request, and say nothing of the targets.
  bool has_offered_load(size_t target) const { return kept[0] && kept[target]; }
  bool has_bounds(size_t target) const { return bounds[0] || bounds[target]; }
  // True: the row has a verdict for this target, because both measured the thing, and not at a load that both kept. Lower bounds
  // of times say nothing of what the times are.
  bool is_judged(size_t target) const;
  // Result of paired_ratio() for pairs(), as a ratio of the measured values.
  PairedRatio ratio_of_values(size_t target) const;
};

struct Comparison {
  Facts origin;                            // when and where, as in a results database
  double load_before = 0, load_after = 0;  // of the last minute, on all processors of this machine
  std::vector<NamedText> files;
  std::string program;  // the command line, without the target
  std::vector<std::string> targets;
  std::vector<std::string> through;  // for each: whose client, and through what cache
  std::string caches;                // text that says which caches were dropped between runs
  std::string added;                 // options that the program got beside those that were given, and why; empty: none
  unsigned asked = 0, rounds = 0;
  std::vector<ComparedRow> rows;
  std::vector<std::string> complaints;  // runs that did not end well, one line each
  bool may_end_early = false, interrupted = false;
  std::string broken;  // a run that measured nothing, which ended all

  void add(size_t target, const ProgramRun& run);  // of the current round, number `rounds`
  // For each row, and in it for each target but the first: whether a difference is shown. Sure together with 95 %, also if the
  // comparison ends as soon as all rates are decided.
  std::vector<std::vector<bool>> decisions() const;
  // True: every rate of every target has a verdict, except for loads that were kept.
  bool all_decided() const;

  // Whole lines.
  std::string text() const;
  std::string html() const;
  nlohmann::json json() const;
  void database(ResultsDatabase& results) const;  // throws std::runtime_error
};

}  // namespace fsr::fsbench
