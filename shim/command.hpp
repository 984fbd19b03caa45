// SPDX-License-Identifier: Apache-2.0
// The command of `-- COMMAND`: started in its own mount namespace, where the capture is mounted over the directory.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "signals.hpp"

namespace fsr::shim {

// Settings that this process changed for itself, with their earlier values for a command.
struct ProcessSettings {
  std::vector<std::pair<int, rlimit>> limits;  // by resource, see setrlimit(2)
  mode_t umask = 022;
  SignalState signals{};
};

class CapturedCommand {
 public:
  // Forks; in the child calls `enter` (which mounts, and throws CaptureError), then waits. Throws CaptureError with enter's line.
  // Call before any thread is started.
  CapturedCommand(const std::vector<std::string>& argv, const ProcessSettings& original, const std::function<void()>& enter);
  ~CapturedCommand();
  CapturedCommand(const CapturedCommand&) = delete;
  CapturedCommand& operator=(const CapturedCommand&) = delete;

  // Makes the kernel request the attributes of a path as the command sees it. Call this before go(): until then the process only
  // waits for go(), and holds no lock.
  void look_at(const std::string& path) const;
  // Executes the command. Throws CommandError if the command can't be executed.
  void go();
  pid_t pid() const { return pid_; }
  // True: the command has ended. Sets *status to its status as a shell has it (128 + signal).
  bool ended(int* status);
  void send(int signal) const;

 private:
  [[noreturn]] void run_child(const std::vector<std::string>& argv, const ProcessSettings& original, int go_fd);

  pid_t pid_ = -1;
  int report_fd_ = -1, go_fd_ = -1;
  bool reaped_ = false;
};

}  // namespace fsr::shim
