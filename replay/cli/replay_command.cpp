// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_command.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "cli/checks.hpp"
#include "cli/replay.hpp"
#include "targets/client_share.hpp"
#include "targets/scheme.hpp"
#include "util/environment.hpp"

namespace fsr {

namespace {

// Throws for options that are not possible with several ranks.
void check_for_ranks(const CommandLine& c) {
  const struct {
    const char* name;
    bool given;
  } single[] = {{"-", c.input == "-"}, {"--dry-run", c.dry_run}, {"--prepare-only", c.prepare_only}};
  for (const auto& option : single)
    if (option.given)
      throw std::runtime_error(fmt::format("{}: not possible with several ranks; leave --ranks out", option.name));
}

// Returns the command line for this rank, with its share of the target's clients. Only the root prints and keeps results.
CommandLine command_of_rank(const CommandLine& command, const Cluster& cluster) {
  CommandLine own = command;
  if (cluster.size() > 1) own.target = with_client_share(own.target, cluster.rank(), cluster.size());
  if (cluster.root()) return own;
  own.results.clear();
  own.json = false;
  own.quiet = true;
  return own;
}

void refuse_swapped(const CommandLine& c) {
  if (!names_target(c.input)) return;
  const std::string right = c.target.empty() ? "" : fmt::format("; did you mean fsreplay {} {}?", c.target, c.input);
  throw std::runtime_error(
      fmt::format("{}: is a target, but the first argument must be the input, a trace or a mix{}", c.input, right));
}

// Collective. Throws if a rank's input is not that of the root, although it has the same name.
void check_input(Replay& replay) {
  const std::string mine = replay.input->identity(), of_root = replay.cluster.broadcast(mine);
  replay.on_all([&] {
    if (mine != of_root)
      throw std::runtime_error(fmt::format("{}: {} here, but {} has {}; give all ranks the same input", replay.command.input,
                                           mine, replay.cluster.name_of(0), of_root));
  });
}

int replay_on_rank(const CommandLine& command, Cluster& cluster, const std::atomic<int>& stop) {
  Replay replay(command, cluster, stop);
  replay.on_all([&] {
    if (cluster.size() > 1) check_for_ranks(command);
    refuse_swapped(command);
    replay.input = command.open_input();
    if (cluster.size() > 1) replay.input->take_share(cluster.rank(), cluster.size(), command.force);
  });
  if (cluster.size() > 1) check_input(replay);
  replay.on_all([&] {
    const bool own_tree = !replay.input->own_names();
    if (!own_tree && command.cleanup)
      throw std::runtime_error(command.input + ": creates no tree that --cleanup could remove; leave --cleanup out");
    Report& report = replay.report;
    report.input = command.input;
    report.acting_as = command.uid;
    report.label = command.label;
    report.program = fmt::format("fsreplay {}{}{}", FSR_VERSION, *kCommit ? " " : "", kCommit);
    report.command = command.text;
    report.environment = environment();
    report.allowed = command.allowed;
    if (cluster.root())  // requirements are checked on the merged report
      for (const std::string& text : command.requirements) report.requirements.emplace_back(text);
    const bool several = command.repeat > 1 || !command.find_scale.empty();
    if (!command.record.empty() && (several || replay.input->rounds() > 1))
      throw std::runtime_error("--record: expected one run, not several; leave --repeat, --find-scale or the ramp out");
    if (several && (command.dry_run || command.prepare_only || replay.input->rounds() > 1))
      throw std::runtime_error("--repeat and --find-scale: expected one load, and a run (no --dry-run, no --prepare-only)");
    if (!command.find_scale.empty() && !command.requirements.empty())
      throw std::runtime_error("--require: not possible with --find-scale, which has its own condition; leave --require out");
    if (!command.find_scale.empty()) replay.input->load_unit();
    replay.open_outputs();
    replay.open_target_for_run();
    if (command.dry_run || !own_tree) return;
    replay.beside_others =
        check_place(*replay.target, replay.clock, replay.input->header().id, command.reuse, command.cleanup, command.force);
    if (replay.beside_others && (several || command.cleanup))
      throw std::runtime_error(replay.target->name() +
                               ": holds files that fsreplay did not make, which --repeat, --find-scale and --cleanup would "
                               "remove; name an empty target, or leave these options out");
  });
  return replay.run();
}

}  // namespace

int replay_command(const CommandLine& command, const std::atomic<int>& stop) {
  ClusterOptions options = command.cluster;
  options.stop = &stop;
  return on_ranks(options, command.text,
                  [&](Cluster& cluster) { return replay_on_rank(command_of_rank(command, cluster), cluster, stop); });
}

}  // namespace fsr
