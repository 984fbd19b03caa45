// SPDX-License-Identifier: Apache-2.0
// DSI, the session layer below AFP on TCP (Apple, AppleTalk Filing Protocol Reference, "Data Stream Interface"). Big endian:
// flags[1] command[1] request id[2] error or data offset[4] length[4] reserved[4], then `length` bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "targets/wire/protocol.hpp"

namespace fsr::afp {

constexpr uint16_t kPort = 548;
constexpr size_t kDsiHead = 16;

enum class Dsi : uint8_t {
  close_session = 1,
  command = 2,
  get_status = 3,
  open_session = 4,
  tickle = 5,
  write = 6,  // a command with data behind it
  attention = 8,
};

struct DsiHead {
  bool reply = false;
  Dsi command = Dsi::command;
  uint16_t id = 0;
  uint32_t code = 0;  // reply: the AFP result; request: where the data begins
  uint32_t length = 0;
};
// `message` has at least kDsiHead bytes.
DsiHead parse_dsi_head(const uint8_t* message);

struct DsiProtocol final : wire::Protocol {
  size_t head_size() const override { return kDsiHead; }
  bool keeps_head() const override { return true; }
  bool parse_head(const uint8_t* head, wire::Fragment* piece) const override;
  bool unasked(std::span<const uint8_t> message) const override;
  bool tag_of(std::span<const uint8_t> message, uint32_t* tag) const override;
  unsigned tag_bits() const override { return 16; }
  std::string request_name(std::span<const uint8_t> head) const override;
  std::string reply_status(std::span<const uint8_t> head, std::span<const uint8_t> message) const override;
};
inline constexpr DsiProtocol kProtocol;

}  // namespace fsr::afp
