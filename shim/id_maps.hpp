// SPDX-License-Identifier: Apache-2.0
// Maps user and group ids into the user namespace of a capture without root. The kernel lets a user map its own user and primary
// group. Programs like newuidmap(1) also map the ids that the administrator granted in /etc/subuid and /etc/subgid, for example
// that of a shared group. Each id is mapped to itself.
//
// Not thread-safe: used before threads start.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fsr::shim {

struct IdRange {
  uint32_t first, count;
};

// Reads the ranges that a file like /etc/subuid (NAME:FIRST:COUNT) grants to a user, by name or number. `own`: an id to leave
// out. Returns the first kMostRanges ranges. Skips malformed lines.
std::vector<IdRange> ranges_in(std::string_view text, std::string_view name, uint32_t user, uint32_t own);
constexpr size_t kMostRanges = 64;  // well below 340, the limit of the kernel

// Returns the ids that this process's user may map besides its own. Empty: none, or the program that maps them is not installed.
std::vector<IdRange> subordinate_uids();
std::vector<IdRange> subordinate_gids();

// Writes the maps of the user namespace that this process is about to enter.
class IdMaps {
 public:
  IdMaps();  // if there are subordinate ids to map, starts a helper process, which stays outside of the namespace
  ~IdMaps();
  IdMaps(const IdMaps&) = delete;
  IdMaps& operator=(const IdMaps&) = delete;
  // Called in the namespace. Maps only the own ids if the subordinate ones are refused. Throws CaptureError.
  void write();

 private:
  const uid_t uid_;
  const gid_t gid_;
  pid_t outside_ = -1;
  int ask_ = -1, answer_ = -1;
};

}  // namespace fsr::shim
