// SPDX-License-Identifier: Apache-2.0
#include "nfs/rpc.hpp"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace fsr::nfs {

namespace {

constexpr uint32_t kRpcVersion = 2, kAccepted = 0, kDenied = 1;
constexpr uint32_t kAuthNone = 0, kAuthSys = 1;
constexpr size_t kLongestAuth = 400, kMostGroups = 16;
constexpr std::string_view kMachine = "fsreplay";

void put_u32(uint8_t* at, uint32_t v) {
  at[0] = uint8_t(v >> 24);
  at[1] = uint8_t(v >> 16);
  at[2] = uint8_t(v >> 8);
  at[3] = uint8_t(v);
}

}  // namespace

Identity own_identity() {
  Identity who{geteuid(), getegid(), {}};
  gid_t groups[256];
  int n = getgroups(256, groups);
  for (int i = 0; i < n; ++i)
    if (groups[i] != who.gid) who.groups.push_back(groups[i]);
  return who;
}

void begin_call(std::vector<uint8_t>& out, uint32_t xid, const Procedure& procedure, const Identity& who,
                std::string_view machine) {
  if (machine.empty()) machine = kMachine;
  // Written to memory of its final size, because each word that an encoder appends costs a check of the size.
  const size_t groups = std::min(who.groups.size(), kMostGroups);
  const size_t padded = machine.size() + XdrEncoder::padding(machine.size());
  const size_t credential = 4 + 4 + padded + 4 + 4 + 4 + groups * 4;
  out.assign(9 * 4 + credential + 2 * 4, 0);
  uint8_t* at = out.data();
  auto put = [&](uint32_t word) {
    put_u32(at, word);
    at += 4;
  };
  put(0);  // the fragment's mark, see end_call
  put(xid);
  put(kCall);
  put(kRpcVersion);
  put(procedure.program);
  put(procedure.version);
  put(procedure.number);
  put(kAuthSys);
  put(uint32_t(credential));
  put(0);  // stamp
  put(uint32_t(machine.size()));
  memcpy(at, machine.data(), machine.size());
  at += padded;
  put(who.uid);
  put(who.gid);
  put(uint32_t(groups));
  for (size_t i = 0; i < groups; ++i) put(who.groups[i]);
  put(kAuthNone);
  put(0);
}

void end_call(std::vector<uint8_t>& out, size_t payload) {
  put_u32(out.data(), kLastFragment | uint32_t(out.size() - 4 + payload));
}

void change_xid(std::vector<uint8_t>& call, uint32_t xid) { put_u32(call.data() + 4, xid); }

RpcStatus decode_reply_head(XdrDecoder& in) {
  in.u32();  // xid: the channel has found the call by it
  if (in.u32() != kReply) return RpcStatus::malformed;
  uint32_t reply = in.u32();
  if (reply == kDenied) {
    uint32_t why = in.u32();
    if (!in.ok() || why > 1) return RpcStatus::malformed;
    return why == 0 ? RpcStatus::rpc_mismatch : RpcStatus::authentication;
  }
  if (reply != kAccepted) return RpcStatus::malformed;
  in.u32();  // the verifier's flavor: with AUTH_SYS there is nothing to verify
  in.opaque(kLongestAuth);
  uint32_t status = in.u32();
  if (!in.ok() || status > 5) return RpcStatus::malformed;
  return RpcStatus(status);
}

int rpc_errno(RpcStatus status) {
  switch (status) {
    case RpcStatus::success:
      return 0;
    case RpcStatus::program_unavailable:
    case RpcStatus::version_mismatch:
    case RpcStatus::procedure_unavailable:
    case RpcStatus::rpc_mismatch:
      return EOPNOTSUPP;
    case RpcStatus::garbage_arguments:
      return EINVAL;
    case RpcStatus::system_error:
      return EIO;
    case RpcStatus::authentication:
      return EACCES;
    case RpcStatus::malformed:
      return EBADMSG;
  }
  return EIO;
}

const char* rpc_message(RpcStatus status) {
  switch (status) {
    case RpcStatus::success:
      return "success";
    case RpcStatus::program_unavailable:
      return "the server does not offer that program";
    case RpcStatus::version_mismatch:
      return "the server does not offer that version";
    case RpcStatus::procedure_unavailable:
      return "the server does not offer that procedure";
    case RpcStatus::garbage_arguments:
      return "the server could not decode the request";
    case RpcStatus::system_error:
      return "the server failed internally";
    case RpcStatus::rpc_mismatch:
      return "the server does not speak RPC version 2";
    case RpcStatus::authentication:
      return "the server does not accept these credentials";
    case RpcStatus::malformed:
      break;
  }
  return "the answer is not an RPC reply";
}

}  // namespace fsr::nfs
