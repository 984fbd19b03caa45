// SPDX-License-Identifier: Apache-2.0
// Ids that exist in the user namespace of a capture without root. The kernel lets a user map its own user and primary group.
// newuidmap(1) and newgidmap(1) also map what the administrator granted in /etc/subuid and /etc/subgid. This may be the id of a
// shared group. Each id stands for itself.
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

// Reads what a file like /etc/subuid (NAME:FIRST:COUNT) gives to a user, by name or number. `own`: an id to be left out. Returns
// the first kMostRanges ranges; skips lines that make no sense.
std::vector<IdRange> ranges_in(std::string_view text, std::string_view name, uint32_t user, uint32_t own);
constexpr size_t kMostRanges = 64;  // well below 340, the most that the kernel takes

// Returns the ids that this process's user may map besides its own. Empty: none, or the program that maps them is not installed.
std::vector<IdRange> subordinate_uids();
std::vector<IdRange> subordinate_gids();

// Writes the maps of the user namespace that this process is about to enter.
class IdMaps {
 public:
  IdMaps();  // starts a process that stays outside, if there is something to map from there
  ~IdMaps();
  IdMaps(const IdMaps&) = delete;
  IdMaps& operator=(const IdMaps&) = delete;
  // To be called in the namespace. Maps the own ids alone if the subordinate ones are refused. Throws CaptureError.
  void write();

 private:
  const uid_t uid_;
  const gid_t gid_;
  pid_t outside_ = -1;
  int ask_ = -1, answer_ = -1;
};

}  // namespace fsr::shim
