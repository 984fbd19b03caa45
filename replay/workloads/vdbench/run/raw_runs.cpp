// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/raw_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "workloads/vdbench/language/checks.hpp"
#include "workloads/vdbench/run/recovery_run.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

RawRuns::RawRuns(const Definitions& definitions, Clock& clock, const std::atomic<int>& stop, Reports& reports, RankGroup& ranks,
                 const RankHosts& hosts, bool force)
    : definitions_(definitions),
      clock_(clock),
      stop_(stop),
      reports_(reports),
      ranks_(ranks),
      hosts_(hosts),
      force_(force),
      runner_(clock) {}

void RawRuns::open(const std::vector<PlannedRun>& runs) {
  check_names();
  for (size_t i = 0; i < definitions_.storages.size(); ++i) {
    bool writes = false;
    for (const PlannedRun& run : runs)
      for (const RawWork& work : run.raw_works) writes |= run.works_on(work, i) && work.workload.read_percent < 100;
    OpenStorage opened{.settings = &definitions_.storages[i]};
    try {
      if (has(i))
        open_one(definitions_.storages[i], writes, opened);
      else
        targets_.emplace_back();
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(fmt::format("sd={}: {}", definitions_.storages[i].name, e.what()));
    }
    opened.removed = &removed_.emplace_back(false);
    storages_.push_back(opened);
  }
  if (definitions_.general.validation.on) know_keys(runs);
}

bool RawRuns::has(size_t storage) const {
  return hosts_.position(definitions_.storages[storage].hosts, ranks_.cluster().rank()).has_value();
}

// Tells all ranks the sizes of all SDs, and which of them are to be formatted.
void RawRuns::share() {
  if (!ranks_.several()) return;
  std::string mine, all;
  for (size_t i = 0; i < storages_.size(); ++i)
    if (has(i)) mine += fmt::format("{} {} {} ", i, storages_[i].size, std::ranges::count(to_format_, i));
  for (const std::string& one : ranks_.cluster().gather(mine)) all += one;
  std::istringstream known(ranks_.cluster().broadcast(all));
  std::set<size_t> formatted;
  for (size_t i = 0, size = 0, formats = 0; known >> i >> size >> formats;) {
    if (!has(i)) storages_.at(i).size = std::max<uint64_t>(storages_.at(i).size, size);
    if (formats) formatted.insert(i);
  }
  to_format_.assign(formatted.begin(), formatted.end());
}

// Makes the keys of each SD, one for each unit of its transfers and their offsets.
void RawRuns::know_keys(const std::vector<PlannedRun>& runs) {
  for (size_t i = 0; i < storages_.size(); ++i) {
    if (!has(i)) {
      validated_.emplace_back();
      if (definitions_.general.validation.recovers) recovered_.emplace_back();
      continue;
    }
    const Storage& storage = *storages_[i].settings;
    if (storage.name.size() > kOwnerSize)
      throw std::runtime_error(
          fmt::format("sd={}: expected a name of at most {} letters for data validation", storage.name, kOwnerSize));
    uint64_t unit = std::gcd(definitions_.general.format_transfer, storages_[i].size / kSector * kSector);
    for (const PlannedRun& run : runs)
      for (const RawWork& work : run.raw_works)
        if (work.storage == i) unit = std::gcd(unit, work.unit(run.storages[i]));
    const Validation& how = definitions_.general.validation;
    if (how.recovers) {
      if (std::find(to_format_.begin(), to_format_.end(), i) != to_format_.end())
        throw std::runtime_error(
            fmt::format("sd={}: there is nothing to recover: {} is missing or too small", storage.name, storage.lun));
      recovered_.push_back(recover_keys(storage.journal, storage.name));
      const RecoveredKeys& known = recovered_.back();
      if (unit % known.unit)
        throw std::runtime_error(
            fmt::format("sd={}: the journal has blocks of {} bytes, expected a divisor of {}", storage.name, known.unit, unit));
      unit = known.unit;
    }
    validated_.push_back(std::make_unique<ValidatedStorage>(storage, storages_[i].size, unit));
    storages_[i].validated = validated_.back().get();
    if (how.journal)
      validated_.back()->journal = std::make_unique<Journal>(
          storage.journal, storage.name, Journal::Options{.flushes = how.flushes, .maps_only = how.maps_only});
  }
}

// Any thread, but only one at a time.
void RawRuns::remove_at(const ErrorLocation& location) {
  if (!definitions_.general.removes) return;
  for (size_t i = 0; i < storages_.size(); ++i)
    if (definitions_.storages[i].lun == location.lun && !removed_[i].exchange(true))
      reports_.error(fmt::format("sd={}: removed from the run, as data_errors= says", definitions_.storages[i].name));
}

void RawRuns::recover() {
  RecoveryRun run(definitions_.general, clock_, reports_, [this](const ErrorLocation& location) { remove_at(location); });
  try {
    for (size_t i = 0; i < recovered_.size(); ++i)
      if (has(i)) run.recover(recovered_[i], storages_[i], *targets_[i]);
  } catch (const std::runtime_error&) {
    error_count_ += run.errors();
    throw;
  }
  error_count_ += run.errors();
  for (const auto& validated : validated_)
    if (validated && validated->journal) validated->journal->begin(validated->keys);
}

// Returns runs that write files completely, if they are missing or too small.
std::vector<PlannedRun> RawRuns::formats() {
  if (to_format_.empty()) return {};
  auto settings = std::make_unique<Run>();
  settings->name = "SD_format";
  PlannedRun run;
  run.run = settings.get();
  run.name = "SD_format";
  run.loops = "threads=2 iorate=max";
  run.rate = {Rate::max};
  run.formats = true;
  run.content = definitions_.general.content;
  run.storages = definitions_.storages;
  for (size_t storage : to_format_) {
    RawWork work;
    work.storage = storage;
    work.threads = 2;
    work.share = 100.0 / double(to_format_.size());
    work.workload.name = "SD_format_" + definitions_.storages[storage].name;
    work.workload.read_percent = 0;
    work.workload.seek = Seek::once;
    work.workload.transfers.shares = SizeShares(1, {definitions_.general.format_transfer, 100});
    work.is_format = true;
    work.hosts = definitions_.storages[storage].hosts;
    run.storages[storage].range = {};
    run.storages[storage].offset = 0;
    run.workloads.push_back(work.workload);
    run.raw_works.push_back(work);
  }
  format_settings_.push_back(std::move(settings));
  return {run};
}

// Joins SDs. Each part has as many complete transfers as fit into its SD. Block 0 of a device is left out.
std::unique_ptr<OpenStorage> RawRuns::join(const Storage& settings, uint64_t largest) const {
  auto all = std::make_unique<OpenStorage>();
  for (size_t i : settings.parts) {
    const OpenStorage& one = storages_[i];
    const uint64_t from = one.device ? largest : 0, length = (one.size - std::min(one.size, from)) / largest * largest;
    if (length == 0) continue;
    all->parts.push_back({&one, all->size, from, length});
    all->size += length;
  }
  if (!all->parts.empty()) all->target_index = all->parts[0].storage->target_index;
  return all;
}

// Returns the bytes of all SDs that the run uses.
double RawRuns::size_of(const PlannedRun& run) const {
  double size = 0;
  for (size_t i = 0; i < storages_.size(); ++i)
    if (std::any_of(run.raw_works.begin(), run.raw_works.end(), [&](const RawWork& work) { return run.works_on(work, i); }))
      size += double(storages_[i].size);
  return size;
}

RunRecord RawRuns::perform(const PlannedRun& run, bool* ends_all) {
  std::vector<PaceShare> shares;
  double own = 0;
  uint64_t largest = 0;
  reopen(run);
  note_changes(run);
  const std::vector<RankSlice> dealt = deal_threads(run, ranks_.cluster().rank(), hosts_);
  for (const RawWork& work : run.raw_works) {
    shares.push_back({.share = work.share,
                      .rate = work.rate,
                      .priority = work.workload.priority,
                      .threads = work.threads,
                      .dealt = dealt[shares.size()]});
    own += work.rate;
    largest = std::max(largest, work.workload.transfers.largest());
  }
  PaceOptions options{.rate = run.rate.kind == Rate::fixed ? std::max(0.0, run.rate.value - own) : 0,
                      .keep_shares = run.keeps_shares() && !run.formats};
  options.arrival = Arrival(run.run->distribution);
  options.queue = definitions_.general.queue;
  options.steps = timed_steps(*run.run);
  options.spike = run.run->spike;
  options.seed = ++runs_;
  Pace pace(shares, options);
  std::atomic<bool> over = false;
  RankMessages messages(ranks_, over, stop_, run.raw_works.size(), false);
  auto note_error = [this](const std::string& line, const ErrorLocation& location) {
    reports_.error(line);
    remove_at(location);
  };
  ErrorLog errors(limits_of(definitions_.general), over,
                  [&](const std::string& line, const ErrorLocation& location) { messages.error(line, location, note_error); });
  ValidatedRun validation{.name = run.name, .rank = ranks_.cluster().rank()};
  const Pattern pattern(largest);
  std::vector<std::unique_ptr<OpenStorage>> joined;
  std::vector<std::unique_ptr<RawContext>> works;
  std::vector<SimThreadSpec> parts;
  for (unsigned w = 0; w < run.raw_works.size(); ++w) {
    const RawWork& work = run.raw_works[w];
    const Storage& settings = run.storages[work.storage];
    if (!settings.parts.empty()) joined.push_back(join(settings, work.workload.transfers.largest()));
    OpenStorage& storage = settings.parts.empty() ? storages_[work.storage] : *joined.back();
    storage.settings = &settings;
    works.push_back(std::make_unique<RawContext>(work, w, storage, pace, errors, validation, runs_));
    if (const ContentSettings content = own_content(run.content, settings.content); content.given())
      works.back()->content = std::make_unique<const Content>(content, "sd=" + settings.name, storage.size);
    for (unsigned i = 0; i < work.threads; ++i)
      if (dealt[w].has(i))
        parts.push_back(
            {std::make_unique<RawThread>(*works.back(), pattern, definitions_.general.validation, i, runs_ * 1000 + w),
             storage.target_index, unsigned(parts.size())});
  }
  for (const auto& validated : validated_)
    if (validated && validated->journal) validated->journal->begin_run(run.name, validation.rank);
  RunOutcome performed = vdbench::perform(runner_, parts, run, reports_, messages,
                                          {&stop_, &over, definitions_.general.monitor, &errors, size_of(run)});
  sync(run, errors);
  performed.own.errors = errors.count();
  for (OpenStorage& storage : storages_)
    for (const Storage& settings : definitions_.storages)
      if (settings.name == storage.settings->name) storage.settings = &settings;
  RunRecord& record = performed.record;
  performed.own.wrong_blocks = validation.bad.lines();
  messages.gather(performed.own, record);
  error_count_ += record.errors;
  *ends_all = performed.ends_all;
  reports_.end(record);
  messages.check([&] {
    if (!performed.failure.empty()) throw std::runtime_error(performed.failure);
  });
  for (const auto& validated : validated_)
    if (validated && validated->journal) validated->journal->begin(validated->keys);
  messages.check([&] {
    if (performed.own.threads) end_validation(validation, run, definitions_.general, stop_, reports_);
    if (ranks_.cluster().root()) end_at_errors(errors, "rd=" + run.name, definitions_.general, reports_);
  });
  return std::move(performed.record);
}

}  // namespace fsr::vdbench
