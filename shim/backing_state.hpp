// SPDX-License-Identifier: Apache-2.0
// The values of --mappings, and the state that each inode has for them (see backing.hpp).
#pragma once

#include <cstdint>

namespace fsr::shim {

enum class Mappings : uint8_t {
  kAuto,   // of the underlying file if the file was first opened for writing, else seen while anybody has it open
  kLower,  // of the underlying file
  kSeen,   // through FUSE
};

// Part of each inode; guarded by Backings.
struct BackingState {
  uint32_t opens = 0;
  int id = 0;          // backing id that all open instances use; 0: none
  bool lower = false;  // true: mappings are those of the underlying file
};

}  // namespace fsr::shim
