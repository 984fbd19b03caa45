// SPDX-License-Identifier: Apache-2.0
// Describes ONC RPC to the wire layer: messages have fragments, and xids are the tags.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "targets/wire/protocol.hpp"

namespace fsr::nfs {

class RpcProtocol final : public wire::Protocol {
 public:
  size_t head_size() const override { return 4; }
  bool keeps_head() const override { return false; }
  bool parse_head(const uint8_t* head, wire::Fragment* piece) const override;
  bool tag_of(std::span<const uint8_t> message, uint32_t* tag) const override;
  unsigned tag_bits() const override { return 32; }
  std::string request_name(std::span<const uint8_t> head) const override;
  std::string reply_status(std::span<const uint8_t> head, std::span<const uint8_t> message) const override;
};
extern const RpcProtocol kRpcProtocol;

}  // namespace fsr::nfs
