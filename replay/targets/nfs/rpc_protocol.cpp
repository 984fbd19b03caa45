// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/rpc_protocol.hpp"

#include <fmt/format.h>

#include "mix/procedures.hpp"
#include "nfs/nfs4.hpp"
#include "nfs/rpc.hpp"
#include "targets/nfs/mount3.hpp"
#include "targets/nfs/nlm4.hpp"
#include "targets/rpc/security.hpp"

namespace fsr::nfs {

const RpcProtocol kRpcProtocol;

namespace {

constexpr size_t kMostOpaque = 1 << 20;

uint32_t program_of(std::span<const uint8_t> call) {
  XdrDecoder in(call);
  in.skip(4 * 4);  // fragment's mark, xid, message type, RPC version
  return in.u32();
}

// Reads credential and verifier of a call. False: a security context protects the arguments, and the results.
bool skip_credentials(XdrDecoder& in) {
  const bool has_context = in.u32() == rpc::kGssFlavor;
  const std::string_view body = in.opaque(kMostOpaque);
  in.u32();
  in.opaque(kMostOpaque);
  XdrDecoder credential({reinterpret_cast<const uint8_t*>(body.data()), body.size()});
  credential.skip(3 * 4);  // version, procedure, sequence number
  return !has_context || credential.u32() == uint32_t(rpc::Service::none);
}

// Operations of a COMPOUND (RFC 8881) up to the first whose arguments are not skipped here, which is mostly the one that matters.
std::string compound_names(XdrDecoder& in) {
  using nfs4::OpNum;
  constexpr size_t kSequenceArguments = 16 + 4 * 4;
  in.opaque(kMostOpaque);  // the tag
  in.u32();                // the minor version
  std::string names;
  for (uint32_t left = in.u32(); left > 0 && in.ok(); --left) {
    const OpNum number = OpNum(in.u32());
    const auto known = nfs_procedures(4);
    const size_t index = size_t(number) - kNfs4FirstOperation;
    names += fmt::format("{}{}", names.empty() ? "" : " ", index < known.size() ? known[index] : "unknown");
    if (number == OpNum::sequence)
      in.skip(kSequenceArguments);
    else if (number == OpNum::putfh)
      in.opaque(kMostOpaque);
    else if (number != OpNum::putrootfh && number != OpNum::getfh && number != OpNum::restorefh && number != OpNum::savefh)
      break;
  }
  return names;
}

}  // namespace

bool RpcProtocol::parse_head(const uint8_t* head, wire::Fragment* piece) const {
  uint32_t mark = XdrDecoder({head, 4}).u32();
  piece->body = mark & ~kLastFragment;
  piece->last = (mark & kLastFragment) != 0;
  return true;
}

bool RpcProtocol::tag_of(std::span<const uint8_t> message, uint32_t* tag) const {
  XdrDecoder in(message);
  *tag = in.u32();
  return in.u32() == kReply && in.ok();
}

std::string RpcProtocol::request_name(std::span<const uint8_t> head) const {
  XdrDecoder in(head);
  in.skip(4 * 4);  // fragment's mark, xid, message type, RPC version
  const uint32_t program = in.u32(), version = in.u32(), number = in.u32();
  const bool is_plain = skip_credentials(in);
  if (!in.ok()) return "no call";
  if (program == kNfsProgram && version == 4 && number == 1) return is_plain ? compound_names(in) : "compound";
  if (program == kNfsProgram && number < nfs_procedures(version).size() && version < 4) return nfs_procedures(version)[number];
  const char* name = program == kGetPort.program ? "portmap"
                     : program == kMountProgram  ? "mount"
                     : program == kNlmProgram    ? "nlm"
                                                 : "program";
  return fmt::format("{} {}, procedure {}", name, version, number);
}

std::string RpcProtocol::reply_status(std::span<const uint8_t> head, std::span<const uint8_t> message) const {
  XdrDecoder in(message);
  const RpcStatus rpc = decode_reply_head(in);
  if (rpc != RpcStatus::success) return rpc_message(rpc);
  XdrDecoder call(head);
  call.skip(7 * 4);  // as far as the procedure
  if (in.left() < 4 || !skip_credentials(call)) return "ok";
  const bool portmap = program_of(head) == kGetPort.program;
  return fmt::format("{} {}", portmap ? "port" : "status", in.u32());
}

}  // namespace fsr::nfs
