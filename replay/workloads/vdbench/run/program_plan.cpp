// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/run/program_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "workloads/vdbench/files/structure.hpp"
#include "workloads/vdbench/language/definitions.hpp"
#include "workloads/vdbench/language/statements.hpp"
#include "workloads/vdbench/language/values.hpp"
#include "workloads/vdbench/plan/rank_slice.hpp"
#include "workloads/vdbench/run/luns.hpp"

namespace fsr::vdbench {

namespace {

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file || std::filesystem::is_directory(name)) throw std::runtime_error(name + ": " + strerror(file ? EISDIR : errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

class PlanReader {
 public:
  PlanReader(const ProgramOptions& options, const Cluster& cluster) : options_(options), cluster_(cluster) {}

  std::unique_ptr<ProgramPlan> read() {
    std::vector<SourceText> texts;
    for (const std::string& file : options_.files) texts.push_back({file, read_file(file)});
    if (options_.text) texts.push_back({"command line", *options_.text});
    if (texts.empty()) throw std::runtime_error("expected a parameter file: -f FILE");
    StatementReader reader(options_.substitutions, read_file);
    plan_->statements = reader.read(texts, &mistakes_);
    plan_->lines = reader.lines();
    add_to_runs();
    all_ = define(plan_->statements, mistakes_);
    override_runs();
    Validation& validation = all_.general.validation;
    if (options_.validation.on) validation = options_.validation;
    ContentSettings& content = all_.general.content;
    if (!content.pattern_file.empty()) attempt([&] { content.pattern = read_pattern(); });
    if (validation.on && all_.general.concatenates)
      mistakes_.add(
          ParameterError(all_.general.concatenates_position, "data validation: not possible with concatenatesds=").what());
    const bool hosts_known = attempt([&] { know_hosts(); });
    runs_ = plan_runs(all_, mistakes_);
    for (const PlannedRun& run : runs_) attempt([&] { refuse(run, validation.on); });
    // A run that was not planned may be the one meant.
    if (!mistakes_.count()) attempt([&] { begin_at(options_.first_run); });
    if (!mistakes_.count()) attempt([&] { check_percentages(); });
    plan_->repeats = options_.repeats.value_or(all_.general.repeats);
    if (hosts_known) attempt([&] { refuse_ranks(plan_->hosts); });
    if (cluster_.size() == 1 && options_.simulate && other_machines(all_.hosts, cluster_.hosts()[0]))
      attempt([&] { refuse_ranks(RankHosts(all_.hosts, machines_of(all_.hosts), {})); });
    check_trees();
    if (hosts_known && !options_.simulate) check_luns();
    mistakes_.check();
    return std::move(plan_);
  }

 private:
  template <class Act>
  bool attempt(Act act) {
    return mistakes_.attempt(act);
  }
  // Finds this rank's SDs that can't be opened, before anything is changed. With mount=, they may appear later.
  void check_luns() {
    if (std::ranges::any_of(all_.hosts, [](const Host& host) { return !host.mounts.empty(); })) return;
    for (const Storage& storage : all_.storages)
      if (!storage.flawed && !storage.lun.empty() && plan_->hosts.position(storage.hosts, cluster_.rank()))
        attempt([&] { check_lun(storage); });
  }
  // Finds trees that are not possible, in any round of a loop, before anything is changed.
  void check_trees() {
    std::vector<const FileSystem*> checked;
    auto check = [&](const FileSystem& system) {
      if (std::ranges::any_of(checked, [&](const FileSystem* other) { return other->same_files(system); })) return;
      checked.push_back(&system);
      attempt([&] { Structure(system).chosen_by(system); });
    };
    for (const PlannedRun& run : runs_)
      for (const FileWork& work : run.file_works) {
        check(run.systems[work.system]);
        if (work.workload.target) check(run.systems[*work.workload.target]);
      }
  }
  // Adds parameters of the command line to all RDs: "+elapsed=10,interval=2".
  void add_to_runs() {
    if (options_.run_parameters.empty()) return;
    const std::vector<Statement> more = StatementReader({}, read_file).read({{"command line", options_.run_parameters}});
    for (Statement& statement : plan_->statements)
      if (section_of(statement.parameters[0]) == Section::runs)
        for (const Statement& one : more)
          statement.parameters.insert(statement.parameters.end(), one.parameters.begin(), one.parameters.end());
  }
  std::shared_ptr<const std::string> read_pattern() const {
    const std::string& name = all_.general.content.pattern_file;
    try {
      const std::string pattern = read_file(name);
      if (pattern.empty()) throw std::runtime_error(name + ": is empty, expected a pattern");
      return std::make_shared<const std::string>(pattern);
    } catch (const std::runtime_error& e) {
      throw ParameterError(all_.general.pattern_position, e.what());
    }
  }
  void begin_at(const std::string& name) {
    if (name.empty()) return;
    const auto first =
        std::find_if(runs_.begin(), runs_.end(), [&](const PlannedRun& run) { return same_word(run.run->name, name); });
    if (first == runs_.end()) throw_error("-r {}: no RD has this name", name);
    runs_.erase(runs_.begin(), first);
  }
  // Refuses a first rate that is a percentage, because there is no rate before it.
  void check_percentages() const {
    const auto first = std::ranges::find_if(runs_, [](const PlannedRun& run) { return !run.formats; });
    if (first == runs_.end() || first->rate.kind != Rate::percent) return;
    throw ParameterError(first->run->position,
                         "rd={}: {:g}% of the rate of the run before, but none is before it; "
                         "expected a number, max or curve",
                         first->run->name, first->rate.value);
  }
  // Refuses settings that do not fit together, also those that loops have added.
  void refuse(const PlannedRun& run, bool validates) const {
    const SourcePosition& position = all_.general.content.given() ? all_.general.content_position : run.run->position;
    if (run.content.pattern && run.content.compression > 1)
      throw ParameterError(run.run->position, "rd={}: expected either pattern= or compratio=", run.name);
    if (validates && !run.run->mount.empty())
      throw ParameterError(run.run->position, "rd={}: data validation: not possible with mount=, which forgets what was written",
                           run.name);
    auto has_own = [](const auto& storage) { return !storage.content.empty(); };
    if (validates &&
        (run.content.given() || std::ranges::any_of(run.storages, has_own) || std::ranges::any_of(run.systems, has_own)))
      throw ParameterError(position, "data validation: not possible with pattern=, compratio= or dedupratio=");
  }
  void override_runs() {
    for (Run& run : all_.runs) {
      if (options_.elapsed) run.elapsed = *options_.elapsed;
      if (options_.interval) run.interval = *options_.interval;
      if (options_.warmup) run.warmup = *options_.warmup;
      if (!run.flawed) attempt([&] { check_overridden(run); });
      if (options_.format) run.format.yes = *options_.format;
      if (options_.format && !*options_.format) run.format = {};
      run.format.only |= options_.format_only;
      run.format.yes |= options_.format_clean;
    }
  }
  static void check_overridden(const Run& run) {
    if (run.elapsed < run.interval || run.elapsed % run.interval || run.warmup % run.interval)
      throw_error("rd={}: expected elapsed and warmup to be multiples of the interval", run.name);
    timed_steps(run);
  }

  // Finds out which ranks work for which hosts, and takes the names that SDs have on this rank's host.
  void know_hosts() {
    const std::vector<Host>& hosts = all_.hosts;
    for (const Host& host : hosts)
      if (!host.mounts.empty() && !options_.allow_mount)
        throw ParameterError(host.position, "hd={}: mount= runs a command, which --allow-mount allows", host.name);
    if (cluster_.size() == 1 && !options_.simulate && other_machines(hosts, cluster_.hosts()[0]))
      throw ParameterError(hosts[0].position, "the hosts are other machines; start all of them by: {}",
                           launch_command(hosts, options_.command));
    plan_->hosts = cluster_.size() == 1 || hosts.empty() ? RankHosts(cluster_.size())
                                                         : RankHosts(hosts, cluster_.hosts(), options_.host_map);
    const std::optional<size_t> own = plan_->hosts.host_of(cluster_.rank());
    for (Storage& storage : all_.storages)
      for (const auto& [on, lun] : storage.luns)
        if (own && (on.empty() || std::ranges::find(on, *own) != on.end())) storage.lun = lun;
  }

  // Refuses settings that do not work on several ranks, for example because a rank knows only its own writes.
  void refuse_ranks(const RankHosts& hosts) const {
    if (hosts.ranks_of({}).size() == 1) return;
    auto refuse_several = [](size_t ranks, const std::string& what) {
      if (ranks > 1)
        throw_error(
            "data validation: {} ranks use {}, but a rank knows only its own writes; expected "
            "host= of one rank, or one process",
            ranks, what);
    };
    if (all_.general.validation.on) {
      for (const Storage& storage : all_.storages) refuse_several(hosts.ranks_of(storage.hosts).size(), "sd=" + storage.name);
      const TreeRanks trees(all_, runs_, hosts);
      for (const auto& [anchor, leaders] : trees.all()) refuse_several(trees.users(anchor).size(), "anchor=" + anchor);
    }
    if (all_.general.removes) throw std::runtime_error("data_errors=remove: expected one process, not ranks");
    auto refuse_own = [&](const std::string& kind, const std::string& name, const std::string& where, const HostNumbers& on) {
      if (where.starts_with("memory:") && hosts.ranks_of(on).size() > 1)
        throw_error("{}={}: ranks can't share memory:, which exists in one process; use another target or one rank", kind, name);
    };
    for (const Storage& storage : all_.storages) refuse_own("sd", storage.name, storage.lun, storage.hosts);
    for (const FileSystem& system : all_.systems) refuse_own("fsd", system.name, system.anchor, system.hosts);
  }

  const ProgramOptions& options_;
  const Cluster& cluster_;
  std::unique_ptr<ProgramPlan> plan_ = std::make_unique<ProgramPlan>();
  Definitions& all_ = plan_->all;
  std::vector<PlannedRun>& runs_ = plan_->runs;
  Mistakes mistakes_;
};

}  // namespace

std::unique_ptr<ProgramPlan> read_plan(const ProgramOptions& options, Cluster& cluster) {
  if (cluster.size() == 1) return PlanReader(options, cluster).read();
  std::unique_ptr<ProgramPlan> plan;
  std::string mine;
  try {
    plan = PlanReader(options, cluster).read();
  } catch (const LostRank&) {
    throw;
  } catch (const std::exception& e) {
    mine = e.what();
  }
  const std::string failures = cluster.all_failures(mine);
  if (!failures.empty()) throw CommonFailure(failures);
  return plan;
}

// Returns a line for each tree that the runs use.
std::string sizes_of_trees(const std::vector<PlannedRun>& runs) {
  std::vector<std::string> texts;
  for (const PlannedRun& run : runs)
    for (const FileWork& work : run.file_works) {
      const FileSystem& system = run.systems[work.system];
      const std::string text = Structure(system).text(system.anchor) + "\n";
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
    }
  return fmt::format("{}", fmt::join(texts, ""));
}

}  // namespace fsr::vdbench
