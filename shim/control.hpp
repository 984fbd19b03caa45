// SPDX-License-Identifier: Apache-2.0
// How `fsshim list` and `fsshim stop` find and talk to running captures.
//
// Each capture owns two files in a directory that only its user can enter: PID.info (key=value lines, stays when the capture
// dies) and PID.sock (a stream socket; one request line, answered by key=value lines). Only the capture's user and root are
// answered. The capture reaches them by descriptor: a path might lead through itself. Used by one thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace fsr::shim {

using ControlFields = std::map<std::string, std::string>;

// Where this user's captures are found; empty when there is no such place.
std::string control_directory(bool create);

class ControlServer {
 public:
  // What captures of the same directory that died have left is forgotten. Throws Fail.
  explicit ControlServer(const ControlFields& info);
  ~ControlServer();
  // Completes what is found of this capture without asking it.
  void tell(const std::string& key, const std::string& value);
  int fd() const { return listen_fd_; }
  // The next request ("status", "rotate", "stop"), or empty. `*client` then awaits reply().
  std::string accept(int* client);
  static void reply(int client, const ControlFields& fields);  // closes it

 private:
  void write_info(const std::string& name) const;

  const std::string directory_, name_;  // its files' names are that and .info or .sock
  int directory_fd_;
  ControlFields info_;
  int listen_fd_ = -1;
};

struct FoundCapture {
  pid_t pid = 0;
  ControlFields info;  // as it began, and its "state": "died", "silent", or what it answered, with its figures
  bool alive = false;
  bool answered = false;
};

// Each is given so many seconds to answer; 0: is not asked.
std::vector<FoundCapture> find_captures(int patience = 5);
// Those of a directory, by its mount if there is one at that path, else by the name that it had when they began.
std::vector<FoundCapture> find_captures_of(const std::string& directory);
// Asks a running capture; false when it doesn't answer. Waits until it has done what was asked.
bool ask_capture(pid_t pid, const std::string& request, ControlFields* answer);
void forget_capture(pid_t pid);  // removes what a dead one left

}  // namespace fsr::shim
