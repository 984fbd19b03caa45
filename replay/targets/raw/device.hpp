// SPDX-License-Identifier: Apache-2.0
// Opens the device or file of a `raw:` target: checks that it may be overwritten, and finds its size and block size.
#pragma once

#include <cstdint>
#include <string>

#include "util/unique_fd.hpp"

namespace fsr::raw {

// Bytes of the header at the start of the device. The header shows that the device holds files of an earlier run.
constexpr uint64_t kHeaderBytes = 4096;

struct Device {
  UniqueFd fd;  // O_DIRECT
  UniqueFd
      claim;  // block devices only: opened with O_EXCL, to exclude others. Not `fd`, which the kernel may close a moment later
  std::string path;    // as given
  uint64_t size = 0;   // bytes
  uint32_t block = 0;  // bytes that offsets and lengths must be multiples of; a power of two, at most kHeaderBytes
};

enum class Access : uint8_t { read_write, read_write_synced, read_only };

// Opens a block device or file. Throws std::runtime_error "PATH: why" if it can't be used. Unless it is opened for reading only,
// it must not be mounted, swap space or otherwise in use. Without `force`, it must not have partitions, a file system or other
// content. `whole`: a file may have unknown content.
Device open_device(const std::string& path, bool force, Access access, bool whole);

// Reasons against overwriting a device, as text. Empty: there are none.
struct SignsOfUse {
  std::string users;    // for example "is mounted on /srv"
  std::string content;  // for example "holds ext4 (label home)"
};
SignsOfUse signs_of_use(const std::string& path);

// Writes the header, which marks the device as used by this target. Throws std::runtime_error.
void write_header(const Device& device);

}  // namespace fsr::raw
