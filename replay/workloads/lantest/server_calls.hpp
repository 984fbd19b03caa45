// SPDX-License-Identifier: Apache-2.0
// Counts the read(2)s and write(2)s of a server's processes on this machine, and their CPU time, from /proc.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fsr::lantest {

class ServerCalls {
 public:
  // Counts of calls; 0: not readable.
  using Counts = std::array<uint64_t, 4>;  // system calls: read by afpd, write by afpd, read by cnid_dbd, write by cnid_dbd

  struct Cpu {
    int64_t server = 0, ids = 0;  // ns, of all living threads; 0 if the kernel keeps no account (CONFIG_SCHED_INFO)
  };

  // `proc`: a mount of /proc that shows the processes of other users. `user`: the user of the session.
  ServerCalls(std::string proc, std::string user) : proc_(std::move(proc)), user_(std::move(user)) {}
  // Finds the user's afpd, which may take some seconds to change to the user. `others`: process ids of other sessions, to be left
  // out. False: problem() has the reason.
  bool find(const std::vector<int>& others = {});

  int server() const { return server_; }  // process id of afpd
  int ids() const { return ids_; }        // process id of cnid_dbd; 0: there is none, as with other databases
  const std::string& problem() const { return problem_; }
  // Returns the original's lines about the processes: what was found, and on standard error what is doubtful.
  std::string found() const;
  const std::string& warnings() const { return warnings_; }
  Counts now() const;
  Cpu cpu() const;

 private:
  bool look(const std::vector<int>& others);
  bool readable();
  int highest(std::vector<int> pids, const std::string& which);
  int64_t cpu_of(int pid) const;
  std::string text(int pid, const char* file) const;

  const std::string proc_, user_;
  int server_ = 0, ids_ = 0;
  int named_ = 0;  // process id of cnid_dbd, even if its counters can't be read
  std::string problem_, warnings_;
};

}  // namespace fsr::lantest
