// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/dsi.hpp"

#include "targets/afp/afp.hpp"
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

std::string DsiProtocol::request_name(std::span<const uint8_t> head) const {
  switch (parse_dsi_head(head.data()).command) {
    case Dsi::close_session:
      return "DSICloseSession";
    case Dsi::command:
    case Dsi::write:
      return head.size() > kDsiHead ? command_name(Command(head[kDsiHead])) : "DSICommand";
    case Dsi::get_status:
      return "DSIGetStatus";
    case Dsi::open_session:
      return "DSIOpenSession";
    case Dsi::tickle:
      return "DSITickle";
    case Dsi::attention:
      return "DSIAttention";
  }
  return "unknown";
}

std::string DsiProtocol::reply_status(std::span<const uint8_t>, std::span<const uint8_t> message) const {
  return result_name(int32_t(parse_dsi_head(message.data()).code));
}

}  // namespace fsr::afp
