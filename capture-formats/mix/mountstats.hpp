// SPDX-License-Identifier: Apache-2.0
// One NFS mount's section of Linux' /proc/self/mountstats, as traces have it in header and closing statement.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fsr {

struct Mountstats {
  unsigned nfs_version = 0;  // 2, 3, 4
  std::string options;       // "rw,vers=3,rsize=1048576,..."
  uint64_t dtsize = 0;       // bytes, 0 = unknown
  // Requests since the mount, in the order of the file, names lower case: "getattr", of version 4 the client's own
  // ("open_noattr").
  std::vector<std::pair<std::string, uint64_t>> calls;
};

// False when this is no such section.
bool parse_mountstats(std::string_view text, Mountstats* stats);

}  // namespace fsr
