// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>

#include "inputs/input.hpp"
#include "targets/target.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

// An option whose text is parsed by one of util/units.hpp; its complaint becomes CLI11's.
template <class T, class Parser>
CLI::Option* with_unit(CLI::App& app, const char* name, T& value, Parser parse, const char* help) {
  return app.add_option_function<std::string>(
      name,
      [&value, parse, name](const std::string& text) {
        try {
          value = T(parse(text));
        } catch (const std::invalid_argument& e) {
          throw CLI::ValidationError(std::string(name) + " " + text, e.what());
        }
      },
      help);
}

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
  CLI::App app("Issues the operations of a trace again, on any target, or the calls of an NFS mix.", "fsreplay");
  app.set_version_flag("--version", "fsreplay " FSR_VERSION);
  app.get_formatter()->column_width(30);
  app.footer(footer());
  app.add_option("INPUT", out.input, "what to run (below), - for standard input")->required();
  app.add_option("TARGET", out.target, "URL (fsreplay target --help) or directory (default: a fresh ./fsreplay-data)");

  std::string timing = "original", order = "resource";
  app.add_option("--timing", timing, "original, think or asap (default original)")
      ->option_text("HOW")
      ->check(CLI::IsMember({"original", "think", "asap"}));
  app.add_option("--order", order, "resource, time or strict (default resource)")
      ->option_text("ORDER")
      ->check(CLI::IsMember({"resource", "time", "strict"}));
  with_unit(app, "--scale", out.run.scale, parse_factor, "times the recorded load: 4x, 0.5x");
  with_unit(app, "--clones", out.clones, parse_clones, "clients, each in its own copy of the tree")->option_text("N");
  with_unit(app, "--from", out.run.from, parse_duration, "recorded time to begin at: 90s, 5m");
  with_unit(app, "--to", out.run.to, parse_duration, "recorded time to end at");
  with_unit(app, "--duration", out.run.duration, parse_duration, "stop issuing after this much time");
  app.add_option("--workers", out.run.workers, "worker threads (default: one a CPU)")
      ->option_text("N")
      ->check(CLI::Range(1u, 1024u));
  app.add_option("--uid", out.uid, "act as self, recorded or map=FILE (default self)");

  std::string arrival = "exponential";
  std::vector<CLI::Option*> of_mixes = {
      app.add_option_function<std::string>(
          "--load",
          [&out](const std::string& text) {
            try {
              out.workload.loads = parse_loads(text);
            } catch (const std::invalid_argument& e) {
              throw CLI::ValidationError("--load " + text, e.what());
            }
          },
          "mix: calls/s, max, or a ramp 100-2000,100 (default max)"),
      app.add_option("--streams", out.workload.streams, "mix: streams of calls (default 8)")
          ->option_text("N")
          ->check(CLI::Range(1u, 10000u)),
      app.add_option("--calls", out.workload.calls, "mix: calls in all")
          ->option_text("N")
          ->check(CLI::Range(uint64_t(1), uint64_t(INT64_MAX))),
      app.add_option("--arrival", arrival, "mix: exponential, uniform or deterministic gaps")
          ->option_text("GAPS")
          ->check(CLI::IsMember({"exponential", "uniform", "deterministic"})),
      app.add_option("--seed", out.workload.seed, "mix: the same seed gives the same calls (default 1)"),
      app.add_option("--sizes", out.workload.sizes, "mix: of files and transfers: nhfsstone, sfs or a trace"),
      with_unit(app, "--working-set", out.workload.working_set, parse_size, "mix: bytes of files, at least"),
      app.add_option("--nfs-version", out.workload.nfs_version, "mix: which of several in the file: 2, 3, 4")
          ->option_text("N")
          ->check(CLI::Range(2u, 4u)),
      app.add_option("--since", out.workload.since, "mix: an earlier snapshot, to be subtracted"),
      app.add_flag("--compat", out.workload.compat, "mix: whole percents, as the original nhfsstone"),
      app.add_option("--svg", out.workload.svg, "mix: draw load against response into this file"),
  };

  app.add_flag("--prepare-only", out.prepare_only, "make the initial image and stop");
  app.add_flag("--reuse", out.reuse, "keep what an earlier run left, mend what differs");
  app.add_flag("--force", out.force, "accept a target that isn't empty or was the captured one");
  app.add_flag("--cleanup", out.cleanup, "remove the tree afterwards (only one that we made)");
  app.add_flag("--dry-run", out.dry_run, "say what would be done and change nothing");
  app.add_flag("--privileged", out.privileged, "allow devices, set-id bits, trusted xattrs, ioctls");
  app.add_option("--results", out.results, "write everything measured into this SQLite file");
  app.add_option("--record", out.record, "write what was issued and what came of it as a trace");
  app.add_flag("--json", out.json, "the report as JSON on standard output");
  app.add_flag("-q,--quiet", out.quiet, "no progress");

  try {
    app.parse(argc, argv);
    if (out.uid != "self" && out.uid != "recorded" && out.uid.rfind("map=", 0) != 0)
      throw CLI::ValidationError("--uid " + out.uid, "expected self, recorded or map=FILE");
    for (const CLI::Option* option : of_mixes) out.workload.given |= option->count() > 0;
    if (out.run.to <= out.run.from) throw CLI::ValidationError("--to", "must be later than --from");
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::string what = e.what();
    fmt::print(stderr, "fsreplay: {}\n", what.substr(0, what.find('\n')));
    return 2;
  }
  out.workload.duration = out.run.duration;
  out.workload.arrival = arrival == "uniform"         ? Arrival::uniform
                         : arrival == "deterministic" ? Arrival::deterministic
                                                      : Arrival::exponential;
  out.run.timing = timing == "original" ? Timing::original : timing == "think" ? Timing::think : Timing::asap;
  out.run.order = order == "resource" ? Order::resource : order == "time" ? Order::time : Order::strict;
  return std::nullopt;
}

}  // namespace fsr
