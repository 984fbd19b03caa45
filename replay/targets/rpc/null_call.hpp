// SPDX-License-Identifier: Apache-2.0
// The procedure NULL of an RPC program (RFC 5531), which asks for TLS with the flavor AUTH_TLS (RFC 9289, section 4.1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nfs/rpc.hpp"

namespace fsr::rpc {

constexpr uint32_t kAuthNoneFlavor = 0, kAuthTlsFlavor = 7;

// Returns the call with its mark.
std::vector<uint8_t> null_call(uint32_t xid, const nfs::Procedure& null, uint32_t flavor);

enum class NullAnswer : uint8_t {
  incomplete,  // more bytes are needed
  plain,       // a reply without a word on TLS
  denied,      // a reply that denies the call, as from servers that don't know AUTH_TLS
  not_served,  // the server lacks the program, or this version of it
  starts_tls,  // a reply that agrees to TLS, and nothing behind it
  malformed,   // no reply to this call, or more than that
};
// Reads what has come in answer to the call.
NullAnswer null_answer(std::span<const uint8_t> bytes, uint32_t xid);
constexpr size_t kLongestNullAnswer = 1024;  // bytes, with the mark

}  // namespace fsr::rpc
