// SPDX-License-Identifier: Apache-2.0
// Lets `fsshim list` and `fsshim stop` find running captures and send requests to them.
//
// Each capture owns two files in a directory that only its user can enter: PID.info (key=value lines, stays when the capture
// dies) and PID.sock (a stream socket; one request line, answered by key=value lines). Only the capture's user and root are
// answered. The capture reaches them by descriptor: a path might lead through itself. Used by one thread.
#pragma once

#include <sys/types.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "util/mountinfo.hpp"
#include "util/unique_fd.hpp"

namespace fsr::shim {

using ControlFields = std::map<std::string, std::string>;

// Returns the directory of this user's captures. Empty: there is none.
std::string control_directory(bool create);

// Locks the directory of this user's captures until the descriptor is closed, so that of several captures that start over one
// directory one mounts first. Gives up after some seconds: a start that hangs must not keep others from starting.
UniqueFd lock_starts();

class ControlServer {
 public:
  // Removes the files of captures of the same directory that died. Throws CaptureError.
  explicit ControlServer(const ControlFields& info);
  ~ControlServer();
  // Adds a field to the file by which this capture is found.
  void set_field(const std::string& key, const std::string& value);
  // Readable when a client has come, or one that came has asked.
  int fd() const { return events_.get(); }
  // The next request ("status", "rotate", "stop"). Empty: none has come. Never blocks. `*client` then awaits reply().
  std::string next(int* client);
  static void reply(int client, const ControlFields& fields);  // closes it

 private:
  void write_info(const std::string& name) const;
  void admit();
  UniqueFd take(std::deque<UniqueFd>::iterator client);

  const std::string directory_, name_;  // its files' names are that and .info or .sock
  int directory_fd_;
  ControlFields info_;
  UniqueFd listener_, events_;   // events_: an epoll descriptor of listener_ and silent_
  std::deque<UniqueFd> silent_;  // clients that have not asked yet, the first came first
};

struct FoundCapture {
  pid_t pid = 0;
  ControlFields info;  // fields from its start, replaced by those of its answer; no answer: "state" is "died" or "silent"
  bool alive = false;
  bool answered = false;
};

// Finds the captures of this user. `timeout`: seconds for the answer of each; 0: none is asked.
std::vector<FoundCapture> find_captures(int timeout = 5);
// True if `mount` is that of the capture with these fields. Its device is not enough, because the kernel reuses the number while
// a capture without its mount is still ending.
bool is_mount_of(const ControlFields& capture, const MountEntry& mount);
// Finds the captures of a directory: by the mount at that path, or without one by the name that the directory had when they
// began.
std::vector<FoundCapture> find_captures_of(const std::string& directory);
// Sends a request to a running capture, and waits until the capture has performed it. False: there was no reply.
bool ask_capture(pid_t pid, const std::string& request, ControlFields* answer);
// True: the capture has ended properly, so that it is not found any more.
bool has_ended(pid_t pid);
void forget_capture(pid_t pid);  // removes the files of a capture that died

}  // namespace fsr::shim
