// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/rpc_protocol.hpp"

#include "nfs/rpc.hpp"

namespace fsr::nfs {

const RpcProtocol kRpcProtocol;

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

}  // namespace fsr::nfs
