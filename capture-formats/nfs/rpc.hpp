// SPDX-License-Identifier: Apache-2.0
// ONC RPC version 2 (RFC 5531) over TCP, the client's side.
//
// A message on the stream is one or more fragments, each after four bytes: the top bit marks the last, the others are its length.
//   call:  xid, 0, 2, program, version, procedure, credential (flavor, body), verifier (0, empty), arguments
//   reply: xid, 1, 0 accepted, verifier, 0 success, results   (or 1..5: why not; or 1 denied, why)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nfs/xdr.hpp"

namespace fsr::nfs {

constexpr uint32_t kLastFragment = 0x80000000;
constexpr uint32_t kCall = 0, kReply = 1;  // types of messages

// User as whom a call is made. AUTH_SYS: whom the caller claims to be.
struct Identity {
  uint32_t uid = 0, gid = 0;
  std::vector<uint32_t> groups;  // at most 16 are sent
  uint32_t principal = 0;        // used with Kerberos: whose security context protects the call; 0: that of the client's own user
};
Identity own_identity();

struct Procedure {
  uint32_t program, version, number;
};

// Begins a call in `out`, which is cleared; the arguments follow. `machine`: name of the caller's host; "": this program's.
void begin_call(std::vector<uint8_t>& out, uint32_t xid, const Procedure& procedure, const Identity& who,
                std::string_view machine = {});
// Ends it: `payload` bytes (with their padding) will follow `out` on the wire.
void end_call(std::vector<uint8_t>& out, size_t payload);
// Gives a call that is encoded already another xid.
void change_xid(std::vector<uint8_t>& call, uint32_t xid);

enum class RpcStatus : uint8_t {
  success,  // results follow
  program_unavailable,
  version_mismatch,
  procedure_unavailable,
  garbage_arguments,
  system_error,
  rpc_mismatch,
  authentication,
  malformed,  // not an RPC reply
};
// Reads a reply up to its results.
RpcStatus decode_reply_head(XdrDecoder& in);
int rpc_errno(RpcStatus status);            // 0 for success
const char* rpc_message(RpcStatus status);  // "the server does not accept these credentials"

}  // namespace fsr::nfs
