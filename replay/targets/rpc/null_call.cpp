// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/null_call.hpp"

#include "nfs/xdr.hpp"

namespace fsr::rpc {

using nfs::XdrDecoder;
using nfs::XdrEncoder;

namespace {

constexpr uint32_t kRpcVersion = 2, kAccepted = 0, kSuccess = 0, kNoProgram = 1, kNoVersion = 2;
constexpr size_t kMark = 4, kLongestVerifier = 400;
constexpr std::string_view kStartTls = "STARTTLS";

}  // namespace

std::vector<uint8_t> null_call(uint32_t xid, const nfs::Procedure& null, uint32_t flavor) {
  std::vector<uint8_t> call;
  XdrEncoder out(call);
  for (uint32_t word :
       {0u, xid, nfs::kCall, kRpcVersion, null.program, null.version, null.number, flavor, 0u, kAuthNoneFlavor, 0u})
    out.u32(word);
  nfs::end_call(call, 0);
  return call;
}

NullAnswer null_answer(std::span<const uint8_t> bytes, uint32_t xid) {
  if (bytes.size() < kMark) return NullAnswer::incomplete;
  const uint32_t mark = XdrDecoder(bytes).u32(), size = mark & ~nfs::kLastFragment;
  if (!(mark & nfs::kLastFragment) || size > kLongestNullAnswer - kMark || bytes.size() > kMark + size)
    return NullAnswer::malformed;
  if (bytes.size() < kMark + size) return NullAnswer::incomplete;
  XdrDecoder in(bytes.subspan(kMark));
  const uint32_t of = in.u32(), type = in.u32(), status = in.u32();
  if (!in.ok() || of != xid || type != nfs::kReply) return NullAnswer::malformed;
  if (status != kAccepted) return NullAnswer::denied;
  const uint32_t flavor = in.u32();
  const std::string_view verifier = in.opaque(kLongestVerifier);
  const uint32_t accepted = in.u32();
  if (!in.ok()) return NullAnswer::malformed;
  if (accepted == kNoProgram || accepted == kNoVersion) return NullAnswer::not_served;
  const bool agrees = flavor == kAuthNoneFlavor && verifier == kStartTls && accepted == kSuccess;
  return agrees ? NullAnswer::starts_tls : NullAnswer::plain;
}

}  // namespace fsr::rpc
