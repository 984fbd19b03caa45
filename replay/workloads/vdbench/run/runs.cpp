// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

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

RunRecord Runs::perform(const PlannedRun& run, bool* ends_all) {
  ++runs_;
  const std::vector<RankSlice> dealt = prepare(run);
  Pace pace(shares_of(run, dealt), pace_of(run));
  std::atomic<bool> over = false;
  RankMessages messages(ranks_, over, stop_, makers(run));
  auto note_error = [this](const std::string& line, const ErrorLocation& location) {
    reports_.error(line);
    failed_at(location);
  };
  ErrorLog errors(limits_of(definitions_.general), over,
                  [&](const std::string& line, const ErrorLocation& location) { messages.error(line, location, note_error); });
  ValidatedRun validation{.name = run.name, .rank = ranks_.cluster().rank()};
  const std::unique_ptr<Threads> threads = make_threads(run, {dealt, pace, errors, validation, messages});
  const std::vector<ValidatedStorage*> storages = validated(&run);
  for (ValidatedStorage* storage : storages)
    if (storage->journal) storage->journal->begin_run(run.name, validation.rank);
  RunOutcome performed = vdbench::perform(runner_, threads->parts, run, reports_, messages,
                                          {&stop_, &over, definitions_.general.monitor, &errors, size_of(run)});
  after_threads(run, errors);
  performed.own.errors = errors.count();
  performed.own.events = threads->events();
  performed.own.wrong_blocks = validation.bad.lines();
  performed.own.checked = validation.checked;
  performed.own.wrong = validation.wrong;
  messages.gather(performed.own, performed.record);
  errors_ += performed.record.errors;
  *ends_all = performed.ends_all;
  reports_.end(performed.record);
  messages.check([&] {
    if (!performed.failure.empty()) throw std::runtime_error(performed.failure);
  });
  for (ValidatedStorage* storage : storages) storage->save_keys();
  messages.check([&] {
    if (!ranks_.cluster().root()) return;
    end_validation(performed.record, definitions_.general, stop_, reports_);
    end_at_errors(errors, "rd=" + run.name, definitions_.general, reports_);
  });
  after(run);
  return std::move(performed.record);
}

}  // namespace fsr::vdbench
