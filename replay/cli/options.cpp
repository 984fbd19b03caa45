// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include <fmt/format.h>

#include "inputs/input_kind.hpp"
#include "util/command.hpp"
#include "util/units.hpp"

namespace fsr {

std::optional<int> parse_command_line(int argc, char** argv, CommandLine& out) {
  auto owner =
      std::make_shared<Program>("fsreplay", "Issues the operations of a trace again, on any target, or the calls of an NFS mix.");
  Program& program = *owner;
  program.version_flag();
  program.add("INPUT", out.input, "what to run (below), - for standard input").required();
  program.add("TARGET", out.target, "URL (fsreplay target --help) or directory (default: a fresh ./fsreplay-data)");

  std::string on_error = "count";
  program.add_with("--duration", out.duration, parse_duration, "stop issuing after this much time");
  program.add("--workers", out.workers, "worker threads (default: one a CPU)").stands_for("N").within(1, 1024);
  program.add("--on-error", on_error, "an operation that fails as it had not: count or stop (default count)")
      .stands_for("WHAT")
      .one_of({"count", "stop"});
  program.add("--uid", out.uid, "act as self, recorded or map=FILE (default self)");
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

  auto kinds = std::make_shared<InputKinds>(program);
  program.footer("Inputs: " + kinds->help() +
                 "\nSubcommands:\n"
                 "  target    lists the kinds of targets, and drives one by hand: fsreplay target --help\n"
                 "Exit status: 0 everything as recorded; 1 it ran and something differed, failed or was left out; 2 it could not "
                 "start.");

  try {
    if (auto status = program.parse(argc, argv)) return status;
    if (out.uid != "self" && out.uid != "recorded" && out.uid.rfind("map=", 0) != 0)
      throw UsageError("--uid " + out.uid + ": expected self, recorded or map=FILE");
  } catch (const UsageError& e) {
    fmt::print(stderr, "fsreplay: {}\n", e.what());
    return 2;
  }
  out.stop_on_error = on_error == "stop";
  out.open_input = [owner, kinds, name = out.input, duration = out.duration] { return kinds->open(name, duration); };
  return std::nullopt;
}

}  // namespace fsr
