// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/raw_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "workloads/vdbench/language/definitions.hpp"
#include "workloads/vdbench/run/recovery.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

void RawRuns::open(const std::vector<PlannedRun>& runs) {
  for (size_t i = 0; i < definitions_.storages.size(); ++i) {
    bool writes = false;
    for (const PlannedRun& run : runs)
      for (const RawWork& work : run.raw_works) writes |= run.works_on(work, i) && work.workload.read_percent < 100;
    OpenStorage opened{.settings = &definitions_.storages[i]};
    try {
      if (has(i)) open_one(definitions_.storages[i], writes, opened);
    } catch (const std::runtime_error& e) {
      throw_error("sd={}: {}", definitions_.storages[i].name, e.what());
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
    validated_.emplace_back();
    recovered_.emplace_back();
    if (!has(i)) continue;
    const Storage& storage = *storages_[i].settings;
    const std::string what = "sd=" + storage.name;
    check_owner("sd", storage.name);
    uint64_t unit = std::gcd(definitions_.general.format_transfer, storages_[i].size / kSector * kSector);
    for (const PlannedRun& run : runs)
      for (const RawWork& work : run.raw_works)
        if (work.storage == i) unit = std::gcd(unit, work.unit(run.storages[i]));
    if (definitions_.general.validation.recovers) {
      if (std::ranges::count(to_format_, i))
        throw_error("{}: there is nothing to recover: {} is missing or too small", what, storage.lun);
      recovered_[i] = recover_keys(storage.journal, storage.name);
      check_unit(what, recovered_[i], unit);
      unit = recovered_[i].unit;
    }
    validated_[i] = std::make_unique<ValidatedStorage>(storage, storages_[i].size, unit);
    storages_[i].validated = validated_[i].get();
    make_journal(*validated_[i], storage.journal);
  }
}

void RawRuns::failed_at(const ErrorLocation& location) {
  if (!definitions_.general.removes) return;
  for (size_t i = 0; i < storages_.size(); ++i)
    if (definitions_.storages[i].lun == location.lun && !removed_[i].exchange(true))
      reports_.error(fmt::format("sd={}: removed from the run, as data_errors= says", definitions_.storages[i].name));
}

void RawRuns::recover_all(RecoveryRun& recovery) {
  for (size_t i = 0; i < recovered_.size(); ++i)
    if (has(i)) recovery.recover(recovered_[i], storages_[i], target_of(i));
}

std::vector<ValidatedStorage*> RawRuns::validated(const PlannedRun* run) {
  std::vector<ValidatedStorage*> its;
  for (size_t i = 0; i < validated_.size(); ++i)
    if (validated_[i] && (!run || std::ranges::any_of(run->raw_works, [&](const RawWork& w) { return run->works_on(w, i); })))
      its.push_back(validated_[i].get());
  return its;
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

struct RawRuns::RawThreads final : Threads {
  explicit RawThreads(uint64_t largest) : pattern(largest) {}
  const Pattern pattern;
  std::vector<std::unique_ptr<OpenStorage>> joined;
  std::vector<std::unique_ptr<RawContext>> works;
};

std::vector<RankSlice> RawRuns::prepare(const PlannedRun& run) {
  reopen(run);
  note_changes(run);
  return deal_threads(run, ranks_.cluster().rank(), hosts_);
}

std::unique_ptr<Runs::Threads> RawRuns::make_threads(const PlannedRun& run, const Shared& shared) {
  uint64_t largest = 0;
  for (const RawWork& work : run.raw_works) largest = std::max(largest, work.workload.transfers.largest());
  auto threads = std::make_unique<RawThreads>(largest);
  for (unsigned w = 0; w < run.raw_works.size(); ++w) {
    const RawWork& work = run.raw_works[w];
    const Storage& settings = run.storages[work.storage];
    if (!settings.parts.empty()) threads->joined.push_back(join(settings, work.workload.transfers.largest()));
    OpenStorage& storage = settings.parts.empty() ? storages_[work.storage] : *threads->joined.back();
    storage.settings = &settings;
    RawContext& context = *threads->works.emplace_back(
        std::make_unique<RawContext>(work, w, storage, shared.pace, shared.errors, shared.validation, runs_));
    if (const ContentSettings content = own_content(run.content, settings.content); content.given())
      context.content = std::make_unique<const Content>(content, "sd=" + settings.name, storage.size);
    for (unsigned i = 0; i < work.threads; ++i)
      if (shared.dealt[w].has(i))
        threads->parts.push_back(
            {std::make_unique<RawThread>(context, threads->pattern, definitions_.general.validation, i, runs_ * 1000 + w),
             storage.target_index, unsigned(threads->parts.size())});
  }
  return threads;
}

// Syncs the SDs, and gives them the settings that they have in no run.
void RawRuns::after_threads(const PlannedRun& run, ErrorLog& errors) {
  for (size_t i = 0; i < storages_.size(); ++i) {
    sync(run, i, errors);
    storages_[i].settings = &definitions_.storages[i];
  }
}

}  // namespace fsr::vdbench
