// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/dsi.hpp"

#include "targets/wire/bytes.hpp"

namespace fsr::afp {

DsiHead parse_dsi_head(const uint8_t* message) {
  wire::ByteReader<std::endian::big> in({message, kDsiHead});
  DsiHead head;
  head.reply = in.u8() & 1;
  head.command = Dsi(in.u8());
  head.id = in.u16();
  head.code = in.u32();
  head.length = in.u32();
  return head;
}

bool DsiProtocol::parse_head(const uint8_t* bytes, wire::Fragment* piece) const {
  const DsiHead head = parse_dsi_head(bytes);
  if (bytes[0] > 1 || head.command < Dsi::close_session || head.command > Dsi::attention) return false;
  piece->body = head.length;
  return true;
}

bool DsiProtocol::unasked(std::span<const uint8_t> message) const { return message[0] == 0; }

bool DsiProtocol::tag_of(std::span<const uint8_t> message, uint32_t* tag) const {
  const DsiHead head = parse_dsi_head(message.data());
  *tag = head.id;
  return head.reply;
}

}  // namespace fsr::afp
