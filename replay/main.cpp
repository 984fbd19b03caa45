// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/options.hpp"
#include "cli/replay_command.hpp"
#include "cli/report_command.hpp"
#include "cli/target_command.hpp"
#include "cli/vdbench_command.hpp"
#include "measure/stood_still.hpp"
#include "util/standard_streams.hpp"
#include "util/stop_signals.hpp"

namespace {

// True: "fsreplay help SUBCOMMAND". A file called help is a trace.
bool asks_for_help(int argc, char** argv) {
  const std::string_view last = argv[argc - 1];
  return argc == 3 && argv[1] == std::string_view("help") && (last == "target" || last == "report") && access("help", F_OK) != 0;
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "target") return fsr::target_command(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "report") return fsr::report_command(argc - 1, argv + 1);
  if (asks_for_help(argc, argv)) {
    char help[] = "--help";
    char* words[] = {argv[0], argv[2], help, nullptr};
    return run(3, words);
  }
  if (argc > 1 && fsr::is_vdbench_file(argv[1]))
    return fsr::print_stood_still("fsreplay", fsr::vdbench_command(argc, argv, fsr::count_stop_signals()));
  fsr::CommandLine command;
  if (auto status = fsr::parse_command_line(argc, argv, command)) return *status;
  try {
    return fsr::replay_command(command, fsr::count_stop_signals());
  } catch (const std::exception& e) {
    if (!ferror(stdout)) fmt::print(stderr, "fsreplay: {}\n", e.what());
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  fsr::occupy_standard_streams();
  fsr::survive_size_limits();
  return fsr::status_of_output("fsreplay", run(argc, argv));
}
