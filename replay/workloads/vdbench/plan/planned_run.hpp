// SPDX-License-Identifier: Apache-2.0
// Runs in the order of their execution. An RD has one for each rate of each round of its loops, and before them those that
// format.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

// The work of one FWD's threads on one FSD.
struct FileWork {
  FileWorkload workload;  // with its one operation, and threads for this alone
  size_t system = 0;      // of PlannedRun::systems
  double share = 100;     // percent of the rate
};

// The work of a WD's threads on one SD.
struct RawWork {
  Workload workload;
  size_t storage = 0;  // of PlannedRun::storages
  unsigned threads = 1;
  double share = 100;  // percent of the rate; with a rate of its own beside max: 0
  double rate = 0;     // per second, its own; 0: a share
};

struct PlannedRun {
  const Run* run = nullptr;  // in the definitions, which outlive it
  std::string name;          // "rd1", "format_for_rd1", "run1_(20%)"
  Rate rate;
  std::string loops;  // "xfersize=4k threads=1", or "None"
  bool formats = false;
  ContentSettings content;
  Format format;
  // As the round of loops has them.
  std::vector<FileSystem> systems;
  std::vector<FileWork> file_works;
  std::vector<Storage> storages;  // SDs of the definitions, then those made of several
  std::vector<Workload> workloads;
  std::vector<RawWork> raw_works;

  bool works_on(const RawWork& work, size_t storage) const;  // one of the definitions, perhaps as a part of another
  size_t works() const { return raw_works.empty() ? file_works.size() : raw_works.size(); }
  bool keeps_shares() const;  // without a rate too
  // "Starting RD=" is followed by it.
  std::string title() const;
};

// Curves stand as they are: what they run follows from the highest rate. Throws ParameterError for what does not fit together.
std::vector<PlannedRun> plan_runs(const Definitions& definitions);
// The runs of a curve whose highest rate is known.
std::vector<PlannedRun> curve_runs(const PlannedRun& highest, double rate);
// Text with a line for each run, for -s.
std::string simulate(const std::vector<PlannedRun>& runs);

}  // namespace fsr::vdbench
