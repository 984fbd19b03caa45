// SPDX-License-Identifier: Apache-2.0
#include "cli/replay_command.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "cli/checks.hpp"
#include "cli/replay.hpp"
#include "util/environment.hpp"

namespace fsr {

int replay_command(const CommandLine& command, const std::atomic<int>& stop) {
  Replay replay(command, stop);
  replay.input = command.open_input();
  const bool own_tree = !replay.input->own_names();
  if (!own_tree && command.cleanup)
    throw std::runtime_error(command.input + ": makes no tree of its own that --cleanup could remove");
  Report& report = replay.report;
  report.input = command.input;
  report.acting_as = command.uid;
  report.label = command.label;
  report.program = fmt::format("fsreplay {}{}{}", FSR_VERSION, *kCommit ? " " : "", kCommit);
  report.command = command.text;
  report.environment = environment();
  const bool several = command.repeat > 1 || !command.find_scale.empty();
  if (!command.record.empty() && (several || replay.input->rounds() > 1))
    throw std::runtime_error("--record: expected one load, not several");
  if (several && (command.dry_run || command.prepare_only || replay.input->rounds() > 1))
    throw std::runtime_error("--repeat and --find-scale: expected one load that is run");
  if (!command.find_scale.empty()) replay.input->load_unit();
  replay.open_outputs();
  replay.open_target_for_run();
  if (!command.dry_run && own_tree)
    check_place(*replay.target, replay.clock, replay.input->header().id, command.reuse, command.cleanup, command.force);
  return replay.play();
}

}  // namespace fsr
