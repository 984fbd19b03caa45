// SPDX-License-Identifier: Apache-2.0
#include "targets/posix_acl.hpp"

#include <endian.h>

#include <cstring>

namespace fsr {

std::optional<uint32_t> mode_of_minimal_acl(const Op& op) {
  constexpr size_t kHeader = 4, kEntry = 8;
  constexpr uint32_t kVersion = 2;
  constexpr uint16_t kUserObj = 0x01, kGroupObj = 0x04, kOther = 0x20;
  if (op.kind != OpKind::setxattr || op.name != "system.posix_acl_access" || op.data.size() != kHeader + 3 * kEntry)
    return std::nullopt;
  uint32_t version;
  memcpy(&version, op.data.data(), sizeof version);
  if (le32toh(version) != kVersion) return std::nullopt;
  uint32_t mode = 0;
  constexpr uint16_t kExpected[] = {kUserObj, kGroupObj, kOther};  // the kernel requires this order
  for (size_t i = 0; i < 3; ++i) {
    uint16_t entry[2];
    memcpy(entry, op.data.data() + kHeader + i * kEntry, sizeof entry);
    if (le16toh(entry[0]) != kExpected[i] || le16toh(entry[1]) > 7) return std::nullopt;
    mode = mode << 3 | le16toh(entry[1]);
  }
  return mode;
}

}  // namespace fsr
