// SPDX-License-Identifier: Apache-2.0
// fsshim: the command line.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string_view>

#include "fail.hpp"
#include "subcommands.hpp"
#include "util/units.hpp"

using namespace fsr;

// A file that took the number of a closed stderr would get the messages: the trace, for one. A command finds them closed as
// before.
static void occupy_standard_descriptors() {
  int fd;
  do fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd <= 2);
  if (fd > 2) close(fd);
}

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  CLI::App app{"Records what applications do to the files of a directory."};
  app.name("fsshim");
  app.set_version_flag("--version", "fsshim " FSR_VERSION);
  app.require_subcommand(1);

  CaptureOptions capture;
  const std::map<std::string, uint32_t> units{{"1ns", 1}, {"100ns", 100}, {"1us", 1000}};
  std::string content = "none", clock = "100ns";
  auto* capture_command = app.add_subcommand("capture", "Capture DIR until ^C, 'fsshim stop DIR' or the end of COMMAND");
  capture_command->add_option("DIR", capture.directory, "The directory to capture; it stays usable under its own name")
      ->required();
  capture_command->add_option("-o,--output", capture.output, "Trace file (default ./NAME-TIME.zst; a .mix file goes beside it)");
  capture_command->add_option("--content", content, "Record what is read and written: none, full")
      ->check(CLI::IsMember({"none", "full"}))
      ->capture_default_str();
  capture_command->add_option("--clock", clock, "Resolution of times: 1ns, 100ns, 1us")
      ->check(CLI::IsMember(units))
      ->capture_default_str();
  capture_command->add_flag("-v,--verbose", capture.verbose, "Say more");
  capture_command->footer(
      "-- COMMAND...  runs COMMAND and captures only what it and its children do, in a private mount namespace.");

  auto* list_command = app.add_subcommand("list", "Show running captures");
  std::string stop_directory;
  auto* stop_command = app.add_subcommand("stop", "End the capture of DIR, or clean up after one that died");
  stop_command->add_option("DIR", stop_directory, "The captured directory")->required();

  // The command is not ours to parse.
  int own = 1;
  while (own < argc && std::string_view(argv[own]) != "--") ++own;
  try {
    app.parse(own, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    fprintf(stderr, "fsshim: %s (see fsshim --help)\n", e.what());
    return 2;
  }
  try {
    if (!capture_command->parsed() && own < argc) throw Fail("only capture takes a command after --");
    if (list_command->parsed()) return run_list();
    if (stop_command->parsed()) return run_stop(stop_directory);
    if (own + 1 == argc) throw Fail("expected a command after --");
    if (own < argc) capture.command.assign(argv + own + 1, argv + argc);
    capture.content = content == "full";
    capture.clock_unit = units.at(clock);
    return run_capture(capture);
  } catch (const std::exception& e) {
    // File names in it may hold line breaks and terminal controls.
    fprintf(stderr, "fsshim: %s\n", escape_text(e.what()).c_str());
    const auto* not_run = dynamic_cast<const NotRun*>(&e);
    return not_run ? not_run->status : 2;
  }
}
