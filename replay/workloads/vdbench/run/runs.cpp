// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/vdbench/language/definitions.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

Runs::Runs(const Program& program)
    : definitions_(program.definitions),
      clock_(program.clock),
      stop_(program.stop),
      reports_(program.reports),
      ranks_(program.ranks),
      hosts_(program.hosts),
      force_(program.force),
      runner_(clock_),
      runs_(program.performed),
      recovery_(definitions_.general, clock_, reports_, [this](const ErrorLocation& location) { failed_at(location); }) {}

unsigned Runs::add_target(const std::string& url, bool may_overwrite) {
  targets_.push_back(open_target(url, {.clock = &clock_, .force = may_overwrite}));
  return runner_.add(*targets_.back());
}

void Runs::make_journal(ValidatedStorage& storage, const std::string& directory, uint64_t shape) const {
  const Validation& how = definitions_.general.validation;
  if (how.journal)
    storage.journal = std::make_unique<Journal>(directory, storage.name, Journal::Options{how.flushes, how.maps_only, shape});
}

void Runs::check_owner(const char* kind, const std::string& name) {
  if (name.size() > kOwnerSize)
    throw_error("{}={}: expected a name of at most {} letters for data validation", kind, name, kOwnerSize);
}

void Runs::check_unit(const std::string& what, const RecoveredKeys& keys, uint64_t unit) {
  if (unit % keys.unit) throw_error("{}: the journal has blocks of {} bytes, expected a divisor of {}", what, keys.unit, unit);
}

void Runs::recover() {
  if (definitions_.general.validation.recovers) recover_all(recovery_);
  for (ValidatedStorage* storage : validated(nullptr)) storage->save_keys();
}

std::vector<PaceShare> Runs::shares_of(const PlannedRun& run, const std::vector<RankSlice>& dealt) const {
  std::vector<PaceShare> shares;
  for (const RawWork& work : run.raw_works)
    shares.push_back({.share = work.share,
                      .rate = work.rate,
                      .priority = work.workload.priority,
                      .threads = work.threads,
                      .dealt = dealt[shares.size()]});
  for (const FileWork& work : run.file_works)
    shares.push_back({.share = work.share, .threads = work.workload.threads, .dealt = dealt[shares.size()]});
  return shares;
}

PaceOptions Runs::pace_of(const PlannedRun& run) const {
  double own = 0;  // rates of works with one of their own
  for (const RawWork& work : run.raw_works) own += work.rate;
  PaceOptions options{.rate = run.rate.kind == Rate::fixed ? std::max(0.0, run.rate.value - own) : 0,
                      .keep_shares = run.keeps_shares() && !(run.formats && run.file_works.empty())};
  options.arrival = Arrival(run.run->distribution);
  options.queue = definitions_.general.queue;
  if (!run.formats) options.steps = timed_steps(*run.run);
  options.spike = run.run->spike && !run.formats;
  options.seed = runs_;
  return options;
}

}  // namespace fsr::vdbench
