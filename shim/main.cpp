// SPDX-License-Identifier: Apache-2.0
// fsshim: the command line.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "capture_arguments.hpp"
#include "capture_error.hpp"
#include "subcommands.hpp"
#include "util/command.hpp"
#include "util/standard_streams.hpp"
#include "util/units.hpp"

using namespace fsr;
using namespace fsr::shim;

static int run(int argc, char** argv) {
  Program program("fsshim", "Records what applications do to the files of a directory.");
  program.common_options();
  program.require_subcommand();

  CaptureArguments capture(program);
  std::string check_directory;
  bool calls_only = false;
  Command check_command = program.subcommand("check", "prints what a capture of DIR would cost and what the trace would miss");
  check_command.add("DIR", check_directory, "the directory to capture").required();
  check_command.flag("--calls-only", calls_only, "measure calls on DIR only, without a capture");

  bool json = false;
  Command list_command = program.subcommand("list", "shows running captures");
  list_command.flag("--json", json, "print JSON on standard output");
  std::string metrics;
  list_command.add("--metrics", metrics, "write Prometheus text into this file (replaced as a whole)").stands_for("FILE");
  std::string rotate_directory;
  Command rotate_command = program.subcommand("rotate", "continues the trace in a new piece");
  rotate_command.add("DIR", rotate_directory, "the captured directory").required();
  std::string stop_directory;
  Command stop_command = program.subcommand("stop", "ends the capture of DIR, or cleans up after a capture that died");
  stop_command.add("DIR", stop_directory, "the captured directory").required();
  bool stop_now = false;
  stop_command.flag("--now", stop_now, "cut off processes that still use files of DIR");

  std::string abort_directory;
  Command abort_command = program.subcommand("abort", "aborts the capture of DIR: requests fail at once, also those in flight");
  abort_command.add("DIR", abort_directory, "the captured directory, as 'fsshim list' shows it").required();

  // The command is not ours to parse.
  int own = 1;
  while (own < argc && std::string_view(argv[own]) != "--") ++own;
  try {
    if (auto status = program.parse(own, argv)) return *status;
  } catch (const UsageError& e) {
    dprintf(STDERR_FILENO, "fsshim: %s (see fsshim --help)\n", e.what());
    return 2;
  }
  try {
    if (!capture.chosen() && own < argc) throw CaptureError("only capture takes a command after --");
    if (check_command.chosen()) return run_check(check_directory, calls_only);
    if (list_command.chosen()) return run_list(json, metrics);
    if (rotate_command.chosen()) return run_rotate(rotate_directory);
    if (stop_command.chosen()) return run_stop(stop_directory, stop_now);
    if (abort_command.chosen()) return run_abort(abort_directory);
    if (own + 1 == argc) throw CaptureError("expected a command after --");
    return capture.run({argv + std::min(own + 1, argc), argv + argc});
  } catch (const std::exception& e) {
    // File names in it may hold line breaks and terminal controls.
    dprintf(STDERR_FILENO, "fsshim: %s\n", escape_text(e.what()).c_str());
    const auto* not_run = dynamic_cast<const CommandError*>(&e);
    return not_run ? not_run->status : 2;
  }
}

int main(int argc, char** argv) {
  occupy_standard_streams();
  return status_of_output("fsshim", run(argc, argv));
}
