// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "cli/replay.hpp"
#include "targets/client_share.hpp"
#include "targets/scheme.hpp"

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
void check_input(const std::string& name, const Input& input, Cluster& cluster) {
  const std::string mine = input.identity(), of_root = cluster.broadcast(mine);
  cluster.on_all([&] {
    if (mine != of_root)
      throw std::runtime_error(
          fmt::format("{}: {} here, but {} has {}; give all ranks the same input", name, mine, cluster.name_of(0), of_root));
  });
}

// Throws for options that are not possible together, or with this input.
void check_options(const CommandLine& c, const Input& input) {
  const bool several = c.several_runs();
  if (input.own_names() && c.cleanup)
    throw std::runtime_error(c.input + ": creates no tree that --cleanup could remove; leave --cleanup out");
  if (!c.record.empty() && (several || input.rounds() > 1))
    throw std::runtime_error("--record: expected one run, not several; leave --repeat, --find-scale or the ramp out");
  if (several && (c.dry_run || c.prepare_only || input.rounds() > 1))
    throw std::runtime_error("--repeat and --find-scale: expected one load, and a run (no --dry-run, no --prepare-only)");
  if (!c.find_scale.empty() && !c.requirements.empty())
    throw std::runtime_error("--require: not possible with --find-scale, which has its own condition; leave --require out");
  if (!c.find_scale.empty()) input.load_unit();
}

int replay_on_rank(const CommandLine& command, Cluster& cluster, const std::atomic<int>& stop) {
  std::unique_ptr<Input> input;
  cluster.on_all([&] {
    if (cluster.size() > 1) check_for_ranks(command);
    refuse_swapped(command);
    input = command.open_input();
    if (cluster.size() > 1) input->take_share(cluster.rank(), cluster.size(), command.force);
  });
  if (cluster.size() > 1) check_input(command.input, *input, cluster);
  cluster.on_all([&] { check_options(command, *input); });
  Replay replay(command, std::move(input), cluster, stop);
  cluster.on_all([&] { replay.open(); });
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
