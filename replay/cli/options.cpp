// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include <fmt/format.h>

#include "cli/vdbench_command.hpp"
#include "cluster/rank_options.hpp"
#include "cycle/condition.hpp"
#include "inputs/input_kind.hpp"
#include "op_kinds.hpp"
#include "report/requirement.hpp"
#include "util/command.hpp"
#include "util/environment.hpp"
#include "util/units.hpp"

namespace fsr {

// Checks a condition of --find-scale; throws if it is wrong.
static std::string condition(const std::string& text) { return Condition(text).text(); }

// Sets the kinds of operations that --allow names: "inexpressible" for all, or "inexpressible=ioctl,getxattr".
static void allow(const std::string& text, std::array<bool, kOpKinds>& kinds) {
  constexpr std::string_view kWhat = "inexpressible";
  std::string_view rest = text;
  if (!rest.starts_with(kWhat) || (rest.size() > kWhat.size() && rest[kWhat.size()] != '='))
    throw std::invalid_argument(fmt::format("'{}': expected inexpressible, or inexpressible=KIND,KIND", escape_text(text)));
  if (rest.size() == kWhat.size()) return kinds.fill(true);
  for (rest.remove_prefix(kWhat.size() + 1);;) {
    const size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    try {
      kinds[unsigned(op_kind_named(name))] = true;
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument(fmt::format("'{}': {}", escape_text(name), e.what()));
    }
    if (comma == rest.npos) return;
    rest.remove_prefix(comma + 1);
  }
}

std::optional<int> parse_command_line(int argc, char** argv, CommandLine& out) {
  auto owner =
      std::make_shared<Program>("fsreplay", "Issues the operations of a trace, or the calls of an NFS mix, on any target.");
  Program& program = *owner;
  program.common_options();
  program.config_option("--config", "read options from this file, NAME=VALUE a line");
  Option input = program.add("INPUT", out.input, "trace, mixfile, model, {mix,model}:NAME, .vdb, -").required();
  program.add("TARGET", out.target, "URL or directory (default: fresh ./fsreplay-data)");

  // Words of other replayers.
  program.suggest("--speed", "--scale");
  program.suggest("--threads", "--workers");

  std::string on_error = "count";
  Command run = program.group("Running");
  run.add_with("--duration", out.duration, parse_time_span, "stop issuing after this much time").stands_for("TIME");
  run.add("--workers", out.workers, "start N worker threads (default: one a CPU)").stands_for("N").within(1, 1024);
  run.add("--on-error", on_error, "count unrecorded errors, or stop (default count)")
      .stands_for("WHAT")
      .one_of({"count", "stop"});
  add_rank_options(run, out.cluster);
  run.add("--repeat", out.repeat, "run so many times; report median and spread").stands_for("N").within(1, 1000);
  run.add_with("--find-scale", out.find_scale, condition, "find the highest load that keeps 'p99 < 10ms'")
      .stands_for("CONDITION");
  run.add("--uid", out.uid, "act as self, recorded or map=FILE (default self)")
      .stands_for("WHO")
      .often({"self", "recorded", "map="});
  run.flag("--dry-run", out.dry_run, "print what a run would do; change nothing");
  run.flag("--privileged", out.privileged, "allow devices, set-id bits, trusted xattrs, ioctls");

  auto require = [&out](const std::string& text) { out.requirements.push_back(Requirement(text).text()); };
  run.add_each("--require", require, "exit with 3 unless, for example, 'p99 < 10ms'").stands_for("CONDITION");
  run.add_each(
         "--allow", [&out](const std::string& text) { allow(text, out.allowed); },
         "accept inexpressible[=KINDS]: no exit status 4")
      .stands_for("WHAT")
      .often({"inexpressible"});

  Command tree = program.group("The target's tree");
  tree.flag("--prepare-only", out.prepare_only, "create the initial image and stop");
  tree.flag("--reuse", out.reuse, "keep files of an earlier run, mend what differs");
  tree.flag("--force", out.force, "use a target with files; overwrite --csv, --page");
  tree.flag("--cleanup", out.cleanup, "remove the tree afterwards, if fsreplay made it");

  Command results = program.group("Results");
  results.add("--results", out.results, "add all measurements to this SQLite file").stands_for("FILE");
  results.add("--label", out.label, "name this run in the --results file").stands_for("NAME");
  results.add("--csv", out.csv, "write each interval into this file during the run").stands_for("FILE");
  results.add("--page", out.page, "write an HTML page, anew every few seconds").stands_for("FILE");
  results.add("--metrics", out.metrics, "keep Prometheus text of the run in this file").stands_for("FILE");
  results.add_with("--interval", out.interval, parse_time_span, "set the length of intervals (default: 1s or less)")
      .stands_for("TIME");
  results.add("--record", out.record, "write a trace of the operations and outcomes").stands_for("FILE");
  results.flag("--json", out.json, "print the report as JSON on standard output");
  results.add_with("--status-interval", out.status_interval, parse_time_span, "print progress this often without a terminal")
      .stands_for("TIME");
  results.flag("-q,--quiet", out.quiet, "print no progress");

  auto kinds = std::make_shared<InputKinds>(program);
  input.often(kinds->names());
  program.footer(
      "Subcommands:\n  report    makes a page of runs in a --results file (report --help)\n  target    lists the kinds of "
      "targets, or drives one by hand (target --help)");

  try {
    if (auto status = program.parse(argc, argv)) return status;
    if (is_vdbench_file(out.input))
      throw UsageError(out.input + ": a parameter file of vdbench must be the first argument: fsreplay " + out.input + " ...");
    if (out.uid != "self" && out.uid != "recorded" && out.uid.rfind("map=", 0) != 0)
      throw UsageError("--uid " + out.uid + ": expected self, recorded or map=FILE");
    if (out.interval && out.interval < 1'000'000) throw UsageError("--interval: expected at least 1ms");
  } catch (const UsageError& e) {
    const bool no_input = std::string_view(e.what()).starts_with("INPUT is required");
    fmt::print(
        stderr, "fsreplay: {}\n",
        no_input ? "INPUT is required: a trace, a mixfile, mix:NAME, a model, model:NAME, or - for standard input" : e.what());
    return 2;
  }
  out.text = command_text({argv, argv + argc});
  out.stop_on_error = on_error == "stop";
  out.open_input = [owner, kinds, name = out.input, duration = out.duration] { return kinds->open(name, duration); };
  return std::nullopt;
}

}  // namespace fsr
