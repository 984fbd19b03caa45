// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "inputs/input.hpp"
#include "targets/target.hpp"
#include "util/command.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

unsigned parse_clones(const std::string& text) {
  constexpr unsigned kMost = 100'000;
  unsigned clones = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), clones);
  if (error != std::errc() || end != text.data() + text.size() || clones < 1 || clones > kMost)
    throw std::invalid_argument(fmt::format("expected a whole number from 1 to {}; fractions are for --scale", kMost));
  return clones;
}

std::string footer() {
  std::string text = "Inputs:\n";
  for (const InputPlugin* plugin : input_plugins()) text += fmt::format("  {}\n", plugin->help);
  return text +
         "Subcommands:\n"
         "  target    lists the kinds of targets, and drives one by hand: fsreplay target --help\n"
         "Exit status: 0 everything as recorded; 1 it ran and something differed, failed or was left out; 2 it could not "
         "start.";
}

}  // namespace

std::optional<int> parse_command_line(int argc, char** argv, CommandLine& out) {
  Program program("fsreplay", "Issues the operations of a trace again, on any target, or the calls of an NFS mix.");
  program.version_flag();
  program.footer(footer());
  program.add("INPUT", out.input, "what to run (below), - for standard input").required();
  program.add("TARGET", out.target, "URL (fsreplay target --help) or directory (default: a fresh ./fsreplay-data)");

  std::string timing = "original", order = "resource", on_error = "count";
  program.add("--timing", timing, "original, think or asap (default original)")
      .stands_for("HOW")
      .one_of({"original", "think", "asap"});
  program.add("--order", order, "resource, time or strict (default resource)")
      .stands_for("ORDER")
      .one_of({"resource", "time", "strict"});
  program.add_with("--scale", out.run.scale, parse_factor, "times the recorded load: 4x, 0.5x");
  program.add_with("--clones", out.clones, parse_clones, "clients, each in its own copy of the tree").stands_for("N");
  program.add_with("--from", out.run.from, parse_duration, "recorded time to begin at: 90s, 5m");
  program.add_with("--to", out.run.to, parse_duration, "recorded time to end at");
  program.add_with("--duration", out.run.duration, parse_duration, "stop issuing after this much time");
  program.add("--workers", out.run.workers, "worker threads (default: one a CPU)").stands_for("N").within(1, 1024);
  program.add("--on-error", on_error, "an operation that fails as it had not: count or stop (default count)")
      .stands_for("WHAT")
      .one_of({"count", "stop"});
  program.add("--uid", out.uid, "act as self, recorded or map=FILE (default self)");

  std::string arrival = "exponential";
  const std::vector<Option> of_mixes = {
      program.add_with("--load", out.workload.loads, parse_loads, "mix: calls/s, max, or a ramp 100-2000,100 (default max)"),
      program.add("--streams", out.workload.streams, "mix: streams of calls (default 8)").stands_for("N").within(1, 10000),
      program.add("--calls", out.workload.calls, "mix: calls in all").stands_for("N").within(1, INT64_MAX),
      program.add("--arrival", arrival, "mix: exponential, uniform or deterministic gaps")
          .stands_for("GAPS")
          .one_of({"exponential", "uniform", "deterministic"}),
      program.add("--seed", out.workload.seed, "mix: the same seed gives the same calls (default 1)"),
      program.add("--sizes", out.workload.sizes, "mix: of files and transfers: nhfsstone, sfs or a trace"),
      program.add_with("--working-set", out.workload.working_set, parse_size, "mix: bytes of files, at least"),
      program.add("--nfs-version", out.workload.nfs_version, "mix: which of several in the file: 2, 3, 4")
          .stands_for("N")
          .within(2, 4),
      program.add("--since", out.workload.since, "mix: an earlier snapshot, to be subtracted"),
      program.flag("--compat", out.workload.compat, "mix: whole percents, as the original nhfsstone"),
      program.add("--svg", out.workload.svg, "mix: draw load against response into this file"),
  };

  program.flag("--prepare-only", out.prepare_only, "make the initial image and stop");
  program.flag("--reuse", out.reuse, "keep what an earlier run left, mend what differs");
  program.flag("--force", out.force, "accept a target that isn't empty or was the captured one");
  program.flag("--cleanup", out.cleanup, "remove the tree afterwards (only one that we made)");
  program.flag("--dry-run", out.dry_run, "say what would be done and change nothing");
  program.flag("--privileged", out.privileged, "allow devices, set-id bits, trusted xattrs, ioctls");
  program.add("--results", out.results, "write everything measured into this SQLite file");
  program.add("--record", out.record, "write what was issued and what came of it as a trace");
  program.flag("--json", out.json, "the report as JSON on standard output");
  program.flag("-q,--quiet", out.quiet, "no progress");

  try {
    if (auto status = program.parse(argc, argv)) return status;
    if (out.uid != "self" && out.uid != "recorded" && out.uid.rfind("map=", 0) != 0)
      throw UsageError("--uid " + out.uid + ": expected self, recorded or map=FILE");
    if (out.run.to <= out.run.from) throw UsageError("--to: must be later than --from");
  } catch (const UsageError& e) {
    fmt::print(stderr, "fsreplay: {}\n", e.what());
    return 2;
  }
  for (const Option& option : of_mixes) out.workload.given |= option.given();
  out.workload.duration = out.run.duration;
  out.workload.arrival = arrival == "uniform"         ? Arrival::uniform
                         : arrival == "deterministic" ? Arrival::deterministic
                                                      : Arrival::exponential;
  out.run.timing = timing == "original" ? Timing::original : timing == "think" ? Timing::think : Timing::asap;
  out.run.stop_on_error = on_error == "stop";
  out.run.order = order == "resource" ? Order::resource : order == "time" ? Order::time : Order::strict;
  return std::nullopt;
}

}  // namespace fsr
