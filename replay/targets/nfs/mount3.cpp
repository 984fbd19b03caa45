// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/mount3.hpp"

namespace fsr::nfs {

namespace {

constexpr uint32_t kTcp = 6, kHighestPort = 65535, kMostFlavors = 64;

}  // namespace

void encode_getport(XdrEncoder& out, uint32_t program, uint32_t version) {
  out.u32(program);
  out.u32(version);
  out.u32(kTcp);
  out.u32(0);
}

bool decode_getport(XdrDecoder& in, uint32_t* port) {
  *port = in.u32();
  return in.ok() && *port <= kHighestPort;
}

void encode_mount(XdrEncoder& out, std::string_view path) { out.opaque(path); }

bool decode_mount(XdrDecoder& in, MountReply* reply) {
  reply->status = in.u32();
  if (reply->status != 0) return in.ok();
  if (!decode_handle(in, &reply->root)) return false;
  uint32_t flavors = in.u32();
  if (flavors > kMostFlavors) return false;
  for (uint32_t i = 0; i < flavors; ++i) reply->flavors.push_back(in.u32());
  return in.ok();
}

std::string mount_message(uint32_t status) {
  switch (status) {
    case 1:
      return "only a privileged user may mount the export";
    case 2:
      return "no such export";
    case 5:
      return "input/output error on the server";
    case 13:
      return "access denied by the server";
    case 20:
      return "not a directory";
    case 22:
      return "invalid argument";
    case 63:
      return "the path is too long";
    case 10004:
      return "not supported by the server";
    case 10006:
      return "the server failed internally";
    default:
      return "MOUNT error " + std::to_string(status);
  }
}

}  // namespace fsr::nfs
