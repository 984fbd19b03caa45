// SPDX-License-Identifier: Apache-2.0
// ACCESS, which is the same in versions 3 and 4.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

namespace fsr::nfs {

enum AccessBit : uint32_t {
  kAccessRead = 0x01,
  kAccessLookup = 0x02,
  kAccessModify = 0x04,
  kAccessExtend = 0x08,
  kAccessDelete = 0x10,
  kAccessExecute = 0x20,
};

// Bits of an ACCESS request for a mask of R_OK | W_OK | X_OK.
inline uint32_t access_request(uint32_t mask) {
  uint32_t bits = 0;
  if (mask & R_OK) bits |= kAccessRead;
  if (mask & W_OK) bits |= kAccessModify | kAccessExtend;
  if (mask & X_OK) bits |= kAccessLookup | kAccessExecute;
  return bits;
}

// True if the granted bits allow `mask`.
inline bool access_granted(uint32_t mask, uint32_t granted) {
  auto any = [&](uint32_t bits) { return (granted & bits) != 0; };
  if ((mask & R_OK) && !any(kAccessRead)) return false;
  if ((mask & W_OK) && !any(kAccessModify | kAccessExtend)) return false;
  // Searching a directory is LOOKUP, running a file EXECUTE; servers leave out the bit that does not apply.
  if ((mask & X_OK) && !any(kAccessLookup | kAccessExecute)) return false;
  return true;
}

// Permissions that an open with these O_* flags needs, as R_OK | W_OK.
inline uint32_t open_mask(uint32_t open_flags) {
  switch (open_flags & O_ACCMODE) {
    case O_RDONLY:
      return R_OK;
    case O_WRONLY:
      return W_OK;
    default:
      return R_OK | W_OK;
  }
}

}  // namespace fsr::nfs
