// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/options.hpp"
#include "cli/replay_command.hpp"
#include "cli/report_command.hpp"
#include "cli/target_command.hpp"
#include "cli/vdbench_command.hpp"
#include "util/standard_streams.hpp"

namespace {

std::atomic<int> stop{0};  // lock-free: set from the handler

constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP};

// After the second one the next ends the process: a call on a mount whose server is gone waits for nothing less.
void on_signal(int) {
  struct sigaction now;
  if (stop.load() != 0)
    for (int number : kEndings)
      if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == on_signal) signal(number, SIG_DFL);
  stop.store(stop.load() == 0 ? 1 : 2);
}

// What is ignored (nohup, a shell's background job) stays ignored.
void handle_endings() {
  struct sigaction action = {}, before;
  action.sa_handler = on_signal;
  for (int number : kEndings)
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "target") return fsr::target_command(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "report") return fsr::report_command(argc - 1, argv + 1);
  if (argc > 1 && fsr::is_vdbench_file(argv[1])) {
    handle_endings();
    return fsr::vdbench_command(argc, argv, stop);
  }
  fsr::CommandLine command;
  if (auto status = fsr::parse_command_line(argc, argv, command)) return *status;
  handle_endings();
  try {
    return fsr::replay_command(command, stop);
  } catch (const std::exception& e) {
    if (!ferror(stdout)) fmt::print(stderr, "fsreplay: {}\n", e.what());
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  fsr::occupy_standard_streams();
  return fsr::status_of_output("fsreplay", run(argc, argv));
}
