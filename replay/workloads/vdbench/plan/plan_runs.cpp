// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workloads/vdbench/language/hosts.hpp"
#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

namespace {

class Planner {
 public:
  Planner(const Definitions& all, Mistakes& mistakes) : all_(all), mistakes_(mistakes) {}

  std::vector<PlannedRun> plan() {
    for (const Run& run : all_.runs) {
      formatted_ = false;
      if (is_flawed(run)) continue;
      each_round(run.loops, [&](const std::vector<size_t>& at) { mistakes_.attempt([&] { round(run, at); }); });
    }
    return std::move(runs_);
  }

 private:
  // True if a mistake is in the run, or in what it uses.
  bool is_flawed(const Run& run) const {
    auto any = [](const auto& list, const std::vector<size_t>& used) {
      return std::ranges::any_of(used, [&](size_t i) { return list[i].flawed; });
    };
    auto any_of_all = [](const auto& list) { return std::ranges::any_of(list, [](const auto& one) { return one.flawed; }); };
    return all_.flawed || run.flawed || any(all_.workloads, run.workloads) || any(all_.file_workloads, run.file_workloads) ||
           any_of_all(all_.storages) || any_of_all(all_.systems);
  }

  void round(const Run& run, const std::vector<size_t>& at) {
    PlannedRun planned;
    planned.run = &run;
    planned.name = run.name;
    planned.loops = round_text(run.loops, at);
    planned.systems = all_.systems;
    planned.content = all_.general.content;
    planned.storages = all_.storages;
    for (size_t w : run.workloads) planned.workloads.push_back(all_.workloads[w]);
    if (!all_.files()) complete_workloads(run, planned);
    for (size_t w : run.file_workloads) planned.file_works.push_back({all_.file_workloads[w], 0, all_.file_workloads[w].skew});
    if (all_.files() && run.file_workloads.empty() && !run.rates.empty()) {
      planned.file_works.push_back({all_.default_file_workload, 0, 0});
      planned.file_works.back().workload.name = "default";
      planned.notes.push_back(fmt::format("rd={}: fwd=default is used, because there is no fwd=", run.name));
    }
    if (!run.rates.empty()) planned.rate = run.rates[0];
    for (size_t i = 0; i < run.loops.size(); ++i) set_value(planned, run.loops[i], at[i]);
    if (all_.files()) {
      if (run.format.any()) format(run, planned);
      split(run, planned);
      if (run.format.only || run.format.clean) return;
    } else {
      if (run.format.any()) planned.notes.push_back(fmt::format("rd={}: format= has no effect on SDs", run.name));
      if (all_.general.concatenates)
        for (Workload& w : planned.workloads) concatenate(w, planned.storages);
      split_raw(run, planned);
    }
    if (run.rates.empty()) return;
    runs_.push_back(planned);
    divide_rate(run, runs_.back());
  }

  // Completes the workloads of an RD on SDs that names no WD, or has SDs of its own.
  void complete_workloads(const Run& run, PlannedRun& planned) const {
    if (planned.workloads.empty()) {
      Workload w = all_.default_workload;
      w.name = "wd1";
      w.position = run.position;
      if (w.storages.empty())
        for (size_t i = 0; i < all_.storages.size(); ++i) w.storages.push_back(i);
      planned.workloads.push_back(w);
    }
    for (Workload& w : planned.workloads) {
      if (run.storages) w.storages = *run.storages;
      std::erase_if(w.storages, [&](size_t s) { return !hosts_of(all_.storages[s].hosts, w.hosts, run.hosts); });
      if (w.storages.empty())
        throw ParameterError(run.position, "rd={}: no host has both wd={} and one of its SDs", run.name, w.name);
    }
    for (Workload& w : planned.workloads) w.flags.flags |= run.flags.flags;
  }

  // Returns the hosts that do the work of a workload on a storage in a run. None: no host does.
  static std::optional<HostNumbers> hosts_of(const HostNumbers& storage, const HostNumbers& workload, const HostNumbers& run) {
    const std::optional<HostNumbers> both = common_hosts(storage, workload);
    return both ? common_hosts(*both, run) : std::nullopt;
  }

  void format(const Run& run, const PlannedRun& of) {
    if (run.format.once && formatted_) return;
    formatted_ = true;
    PlannedRun planned = of;
    planned.name = "format_for_" + run.name;
    planned.formats = true;
    planned.format = run.format;
    planned.rate = {Rate::max};
    planned.file_works.clear();
    std::vector<size_t> systems = systems_of(run, of);
    for (size_t i = 0; i < systems.size(); ++i) {
      // FSDs that share an anchor share its files.
      const bool again = std::any_of(systems.begin(), systems.begin() + long(i),
                                     [&](size_t other) { return all_.systems[other].anchor == all_.systems[systems[i]].anchor; });
      if (again) continue;
      FileWork work{all_.format_workload, systems[i], 100};
      work.workload.name = "format";
      work.workload.operation = Operation::write;
      if (!run.format.limited) planned.systems[systems[i]].working_set = 0;
      planned.file_works.push_back(work);
    }
    for (FileWork& work : planned.file_works) work.share = 100.0 / double(planned.file_works.size());
    runs_.push_back(planned);
  }

  std::vector<size_t> systems_of(const Run& run, const PlannedRun& planned) const {
    if (run.systems) return *run.systems;
    std::vector<size_t> all;
    for (const FileWork& work : planned.file_works) {
      std::vector<size_t> its = work.workload.systems;
      if (work.workload.target) its.push_back(*work.workload.target);
      for (size_t system : its)
        if (std::find(all.begin(), all.end(), system) == all.end()) all.push_back(system);
    }
    if (all.empty())
      for (size_t i = 0; i < all_.systems.size(); ++i) all.push_back(i);
    std::sort(all.begin(), all.end());
    return all;
  }

  // Returns the share of each workload that has no skew=, whose skew is 0 here. Throws if the others do not leave it.
  static double share_without_skew(const Run& run, const std::vector<double>& skews) {
    const double asked = std::accumulate(skews.begin(), skews.end(), 0.0);
    const auto without = std::ranges::count(skews, 0.0);
    if (asked > 100 + 1e-6 || (without == 0 && !skews.empty() && std::fabs(asked - 100) > 1e-6))
      throw ParameterError(run.position, "rd={}: the skews add up to {:g}, expected 100", run.name, asked);
    if (without > 0 && asked > 100 - 1e-6)
      throw ParameterError(run.position, "rd={}: the skews add up to 100, and {} workloads have none: nothing is left for them",
                           run.name, without);
    return (100 - asked) / double(without);
  }

  // Makes a work of each FWD for each of its operations on each of its FSDs. Threads and rates are divided among these works.
  void split(const Run& run, PlannedRun& planned) const {
    std::vector<FileWork> works;
    std::vector<double> skews;
    for (const FileWork& work : planned.file_works) skews.push_back(work.workload.skew);
    const double rest = share_without_skew(run, skews);
    for (const FileWork& work : planned.file_works) {
      const double share = work.workload.skew > 0 ? work.workload.skew : rest;
      const std::vector<Operation> operations = run.operations.empty() ? std::vector{work.workload.operation} : run.operations;
      const std::vector<size_t>& systems = run.systems ? *run.systems : work.workload.systems;
      const size_t parts = operations.size() * systems.size();
      const unsigned asked_threads = work.workload.threads;
      const auto threads = unsigned(std::max<size_t>(1, asked_threads / operations.size() / systems.size()));
      if (threads * parts != asked_threads && !all_.general.adjusts_threads)
        throw ParameterError(work.workload.position,
                             "fwd={}: threads={} are not a multiple of the {} operations and FSDs of rd={}, as "
                             "fwd_thread_adjust=no requires",
                             work.workload.name, asked_threads, parts, run.name);
      if (threads * parts != asked_threads)
        planned.notes.push_back(fmt::format("rd={},fwd={}: Mismatch between threads requested ({}) and used ({})", run.name,
                                            work.workload.name, asked_threads, threads * parts));
      if (work.workload.read_percent && !work.workload.random_io)
        planned.notes.push_back(
            fmt::format("rd={},fwd={}: rdpct= with fileio=sequential, which 5.04.06 refuses: reads and writes "
                        "follow each other in a file",
                        run.name, work.workload.name));
      for (Operation operation : operations)
        for (size_t system : systems) {
          FileWork part = work;
          part.workload.operation = operation;
          if (!run.operations.empty() && operation != Operation::read && operation != Operation::write)
            part.workload.read_percent.reset();
          part.workload.threads = threads;
          part.system = system;
          const auto hosts = hosts_of(planned.systems[system].hosts, part.workload.hosts, run.hosts);
          if (!hosts)
            throw ParameterError(run.position, "rd={}: no host has both fwd={} and fsd={}", run.name, part.workload.name,
                                 planned.systems[system].name);
          part.hosts = *hosts;
          part.share = share / double(parts);
          part.workload.flags.flags |= run.flags.flags | planned.systems[system].flags.flags;
          part.workload.flags.sync_at_close |= run.flags.sync_at_close || planned.systems[system].flags.sync_at_close;
          if (operation == Operation::copy && !part.workload.target)
            throw ParameterError(run.position, "rd={}: expected target=FSD in fwd={} for copy", run.name, part.workload.name);
          works.push_back(part);
        }
    }
    planned.file_works = std::move(works);
  }

  // Joins the SDs of a WD to one. Only the beginnings of its parts are known.
  static void concatenate(Workload& w, std::vector<Storage>& storages) {
    if (w.read_hits > 0 || w.write_hits > 0)
      throw ParameterError(w.position, "wd={}: expected no rhpct= and whpct= with concatenatesds=", w.name);
    Storage all;
    all.name = w.name + "_sds";
    all.position = w.position;
    all.threads = 0;
    all.parts = w.storages;
    for (size_t part : w.storages) {
      const Storage& s = storages[part];
      if (s.range.given() || s.offset || s.align || !s.content.empty() || !s.hosts.empty())
        throw ParameterError(s.position,
                             "sd={}: expected no range=, offset=, align=, dedup and host= with concatenatesds=", s.name);
      all.size += s.size;
      all.threads += s.threads;
      all.flags.flags |= s.flags.flags;
    }
    if (w.threads) all.threads = w.threads;
    w.storages = {storages.size()};
    storages.push_back(all);
  }

  // Makes a work of each WD for each of its SDs. The threads of an SD are divided among its works.
  static void split_raw(const Run& run, PlannedRun& planned) {
    std::vector<double> skews;  // of WDs without rates of their own
    std::vector<unsigned> works(planned.storages.size()), given(planned.storages.size());
    check_priorities(run, planned.workloads);
    for (const Workload& w : planned.workloads) {
      if (w.rate == 0) skews.push_back(w.skew);
      for (size_t storage : w.storages) ++works[storage];
      if (w.streams && planned.workloads.size() > 1)
        throw ParameterError(w.position, "wd={}: expected streams= in the only WD of rd={}", w.name, run.name);
    }
    const double rest = share_without_skew(run, skews);
    for (const Workload& w : planned.workloads) {
      const double share = w.rate > 0 ? 0 : w.skew > 0 ? w.skew : rest;
      for (size_t storage : w.storages) {
        const auto hosts = hosts_of(planned.storages[storage].hosts, w.hosts, run.hosts);
        const unsigned threads = planned.storages[storage].threads, parts = works[storage];
        RawWork work{w, storage, std::max(1u, threads / parts + (given[storage]++ < threads % parts)),
                     share / double(w.storages.size()), w.rate / double(w.storages.size())};
        work.hosts = *hosts;
        if (w.streams) work.threads = (work.threads + w.streams - 1) / w.streams * w.streams;
        work.workload.flags.flags |= planned.storages[storage].flags.flags;
        planned.raw_works.push_back(work);
      }
    }
  }

  // Divides the rate: WDs with rates of their own keep these, and the others share the rest.
  static void divide_rate(const Run& run, PlannedRun& planned) {
    double own = 0;
    size_t without = 0;
    for (const RawWork& work : planned.raw_works) {
      own += work.rate;
      without += work.rate == 0;
    }
    if (own == 0) return;
    if (planned.rate.kind == Rate::curve || run.variable)
      throw ParameterError(run.position, "rd={}: expected one rate, because a WD has its own iorate=", run.name);
    const double all = planned.rate.kind == Rate::fixed && without ? planned.rate.value : without ? 0 : own;
    if (all && without && own >= all)
      throw ParameterError(run.position, "rd={}: iorate={:g} leaves nothing beside the {:g} of WDs with rates of their own",
                           run.name, all, own);
    for (RawWork& work : planned.raw_works)
      work.share = work.rate == 0 ? work.share * (all ? 1 - own / all : 1) : all ? work.rate / all * 100 : 0;
  }

  // Checks priorities: either all WDs have one, from 1 on without gaps, or none has. A WD that runs as fast as possible would
  // leave nothing for higher numbers.
  static void check_priorities(const Run& run, const std::vector<Workload>& workloads) {
    unsigned most = 0;
    for (const Workload& w : workloads) most = std::max(most, w.priority);
    if (most == 0) return;
    for (unsigned priority = 1; priority <= most; ++priority)
      if (std::none_of(workloads.begin(), workloads.end(), [&](const Workload& w) { return w.priority == priority; }))
        throw ParameterError(run.position, "rd={}: no WD has priority={}, expected 1 to {} without gaps", run.name, priority,
                             most);
    for (const Workload& w : workloads) {
      if (w.priority == 0)
        throw ParameterError(w.position, "wd={}: expected priority=, as others of rd={} have one", w.name, run.name);
      if (w.priority < most && w.rate == 0)
        throw ParameterError(w.position, "wd={}: expected iorate=, as others of rd={} have a lower priority", w.name, run.name);
    }
  }

  const Definitions& all_;
  Mistakes& mistakes_;
  std::vector<PlannedRun> runs_;
  bool formatted_ = false;
};

}  // namespace

std::vector<PlannedRun> plan_runs(const Definitions& definitions, Mistakes& mistakes) {
  return Planner(definitions, mistakes).plan();
}

}  // namespace fsr::vdbench
