// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the two protocols that are needed before NFSv3. The portmapper (RFC 1833, version 2) returns a program's
// port. MOUNT version 3 (RFC 1813, appendix I) returns the file handle of an export.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nfs/nfs3.hpp"
#include "nfs/rpc.hpp"

namespace fsr::nfs {

constexpr uint16_t kPortmapPort = 111;
constexpr uint32_t kMountProgram = 100005, kMountVersion = 3;
constexpr Procedure kGetPort{100000, 2, 3};
constexpr Procedure kMount{kMountProgram, kMountVersion, 1};
constexpr size_t kLongestMountPath = 1024;

void encode_getport(XdrEncoder& out, uint32_t program, uint32_t version);  // over TCP
// Decodes the reply. False: malformed. *port is 0: the program is not registered.
bool decode_getport(XdrDecoder& in, uint32_t* port);

void encode_mount(XdrEncoder& out, std::string_view path);
struct MountReply {
  uint32_t status = 0;  // 0: granted; else similar to an errno
  FileHandle root;
  std::vector<uint32_t> flavors;  // of authentication, in the server's order of preference
};
bool decode_mount(XdrDecoder& in, MountReply* reply);
std::string mount_message(uint32_t status);

}  // namespace fsr::nfs
