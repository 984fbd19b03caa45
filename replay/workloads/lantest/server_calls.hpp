// SPDX-License-Identifier: Apache-2.0
// Counts the read(2)s and write(2)s of a server's processes on this machine, and their CPU time, by reading /proc.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fsr::lantest {

class ServerCalls {
 public:
  // Counts of afpd and of cnid_dbd; 0: can't be read.
  using Counts = std::array<uint64_t, 4>;  // reads and writes of the one, then of the other

  struct Cpu {
    int64_t server = 0, ids = 0;  // ns, of all threads that live; 0 where the kernel keeps no such account (CONFIG_SCHED_INFO)
  };

  // Looks for the user's session. `proc`: where /proc is mounted so that others' processes are to be seen.
  ServerCalls(std::string proc, std::string user) : proc_(std::move(proc)), user_(std::move(user)) {}
  // afpd must be there, besides `others` of other sessions; it may take some seconds to take on the user's identity. False:
  // problem() says why.
  bool find(const std::vector<int>& others = {});

  int server() const { return server_; }  // process numbers
  int ids() const { return ids_; }        // 0: there is none, as with a database of another kind
  const std::string& problem() const { return problem_; }
  Counts now() const;
  Cpu cpu() const;

 private:
  bool look(const std::vector<int>& others);
  int64_t cpu_of(int pid) const;
  std::string text(int pid, const char* file) const;

  const std::string proc_, user_;
  int server_ = 0, ids_ = 0;
  std::string problem_;
};

}  // namespace fsr::lantest
