// SPDX-License-Identifier: Apache-2.0
// The device or file below `raw:`: what must not be overwritten by mistake, its size, what it demands of requests.
#pragma once

#include <cstdint>
#include <string>

#include "util/unique_fd.hpp"

namespace fsr::raw {

// The first block is ours: it tells a device that holds the files of an earlier run from others.
constexpr uint64_t kHeaderBytes = 4096;

struct Device {
  UniqueFd fd;     // O_DIRECT
  UniqueFd claim;  // of a block device, O_EXCL: keeps others away. Not `fd`, which the kernel may keep a moment longer than we do
  std::string path;    // as given
  uint64_t size = 0;   // bytes
  uint32_t block = 0;  // bytes; offsets and lengths of requests must be multiples of it. A power of two, at most kHeaderBytes
};

enum class Access : uint8_t { read_write, read_write_synced, read_only };

// Throws std::runtime_error "PATH: why" for what can't be driven at all, for what is mounted, swap space or otherwise in use, and
// without `force` for what is partitioned or holds something; a file that is taken as a `whole` may hold anything. For reading
// alone, nothing speaks against it.
Device open_device(const std::string& path, bool force, Access access, bool whole);

// Everything known that speaks against overwriting it, in words; empty where nothing does.
struct SignsOfUse {
  std::string users;    // "is mounted on /srv"
  std::string content;  // "holds ext4 (label home)"
};
SignsOfUse signs_of_use(const std::string& path);

// Makes the device known as ours. Throws std::runtime_error.
void write_header(const Device& device);

}  // namespace fsr::raw
