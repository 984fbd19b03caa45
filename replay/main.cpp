// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <exception>
#include <string_view>

#include "cli/options.hpp"
#include "cli/replay_command.hpp"
#include "cli/target_command.hpp"

namespace {

std::atomic<int> stop{0};  // lock-free: set from the handler

void on_signal(int) { stop.store(stop.load() == 0 ? 1 : 2); }

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "target") return fsr::target_command(argc - 1, argv + 1);
  fsr::CommandLine command;
  if (auto status = fsr::parse_command_line(argc, argv, command)) return *status;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  try {
    return fsr::replay_command(command, stop);
  } catch (const std::exception& e) {
    fmt::print(stderr, "fsreplay: {}\n", e.what());
    return 2;
  }
}
