// SPDX-License-Identifier: Apache-2.0
// Runs in the order of their execution. An RD has a run for each rate in each round of its loops. Runs that format precede them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "workloads/vdbench/language/settings.hpp"

namespace fsr::vdbench {

// Work of one FWD's threads on one FSD.
struct FileWork {
  FileWorkload workload;  // has one operation, and the threads of this work
  size_t system = 0;      // index in PlannedRun::systems
  double share = 100;     // percent of the rate
  HostNumbers hosts{};
};

// Work of one WD's threads on one SD.
struct RawWork {
  Workload workload;
  size_t storage = 0;  // index in PlannedRun::storages
  unsigned threads = 1;
  double share = 100;  // percent of the rate; 0 for a rate of its own in a run with iorate=max
  double rate = 0;     // rate of its own, operations per second; 0: a share
  bool is_format = false;
  HostNumbers hosts{};

  // Returns the number of bytes of which all offsets and lengths of the transfers on `its_storage` are multiples.
  uint64_t unit(const Storage& its_storage) const;
};

struct PlannedRun {
  const Run* run = nullptr;  // part of the definitions, which must outlive this
  std::string name;          // "rd1", "format_for_rd1", "run1_(20%)"
  Rate rate;
  std::string loops;  // "xfersize=4k threads=1", or "None"
  bool formats = false;
  ContentSettings content;
  Format format;
  std::vector<std::string> notes;  // reported before the run
  // Definitions with the values of this round of the loops.
  std::vector<FileSystem> systems;
  std::vector<FileWork> file_works;
  std::vector<Storage> storages;  // SDs of the definitions, then those made of several
  std::vector<Workload> workloads;
  std::vector<RawWork> raw_works;

  // `storage`: index of a definition; it may be a part of the work's SD.
  bool works_on(const RawWork& work, size_t storage) const;
  // Properties of a work, by its number.
  bool of_files() const { return raw_works.empty(); }
  size_t works() const { return of_files() ? file_works.size() : raw_works.size(); }
  const HostNumbers& hosts_of(size_t work) const { return of_files() ? file_works[work].hosts : raw_works[work].hosts; }
  const std::string& name_of(size_t work) const {
    return of_files() ? file_works[work].workload.name : raw_works[work].workload.name;
  }
  const std::string& storage_of(size_t work) const {  // name of its SD or FSD
    return of_files() ? systems[file_works[work].system].name : storages[raw_works[work].storage].name;
  }
  double share_of(size_t work) const { return of_files() ? file_works[work].share : raw_works[work].share; }
  unsigned threads_of(size_t work) const { return of_files() ? file_works[work].workload.threads : raw_works[work].threads; }
  bool keeps_shares() const;  // true: the works keep their shares, also if there is no rate
  std::string label() const { return loops == "None" ? name : name + " " + loops; }
  // Returns the text that follows "Starting RD=".
  std::string title() const;
};

// Plans all runs that do not depend on a flawed definition. A curve is one run here, because its points depend on the highest
// rate. `mistakes`: gets those of settings that do not fit together.
std::vector<PlannedRun> plan_runs(const Definitions& definitions, Mistakes& mistakes);
// Returns the runs of a curve whose highest rate is known.
std::vector<PlannedRun> curve_runs(const PlannedRun& highest, double rate);
// Returns the run with the rate that is a percentage of `observed`, the rate of the previous run that was no format. A run with
// another rate is returned unchanged.
PlannedRun at_percentage(PlannedRun run, double observed);
// Returns one line for each run, for -s.
std::string simulate(const std::vector<PlannedRun>& runs);

// Calls `act` for each round of nested loops, the first of which is the outermost. `at`: index of each loop's value.
void each_round(const std::vector<Loop>& loops, const std::function<void(const std::vector<size_t>& at)>& act);
// Returns "xfersize=4k threads=1", or "None" without loops.
std::string round_text(const std::vector<Loop>& loops, const std::vector<size_t>& at);
// Sets value number `at` of the loop in `run`. Throws ParameterError if the value is not possible.
void set_value(PlannedRun& run, const Loop& loop, size_t at);

}  // namespace fsr::vdbench
