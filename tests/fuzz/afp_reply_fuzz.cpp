// SPDX-License-Identifier: Apache-2.0
// Everything that an AFP server can make us read. The first byte of the input is the command that the rest, a whole DSI message,
// is taken to answer. 254: what DSIGetStatus is answered; 253: a stream that is cut into messages; 252: what a DHX2 login is
// answered.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "targets/afp/afp.hpp"
#include "targets/afp/dhx2.hpp"
#include "targets/wire/message_reader.hpp"

using namespace fsr;
using namespace fsr::afp;

namespace {

constexpr uint8_t kStatus = 254, kStream = 253, kDhx2 = 252;
constexpr size_t kLongestMessage = 100'000;

void require(bool condition) {
  if (!condition) abort();
}

void check_inside(std::string_view view, std::span<const uint8_t> message) {
  if (view.empty()) return;
  const auto* begin = reinterpret_cast<const uint8_t*>(view.data());
  require(begin >= message.data() && begin + view.size() <= message.data() + message.size());
}

void read_reply(Command command, std::span<const uint8_t> message) {
  static Reply reply;
  if (!decode_reply(command, message, &reply)) return;
  check_inside(reply.data, message);
  check_inside(reply.parms.name, message);
  for (const Parms& e : reply.entries) {
    check_inside(e.name, message);
    require(!e.name.empty());
  }
  for (std::string_view v : reply.volumes) check_inside(v, message);
  require(reply.entries.size() <= message.size() / 4);
  require(reply.volumes.size() <= UINT8_MAX);
  require(reply.error >= 0 && reply.error < 4096);
}

void read_status(std::span<const uint8_t> message) {
  ServerInfo info;
  if (!decode_server_info(message, &info)) return;
  require(info.versions.size() <= UINT8_MAX && info.uams.size() <= UINT8_MAX);
}

// The bytes arrive in lumps of the size that the first of them says.
void read_stream(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const size_t lump = bytes[0] * 16 + 1;
  bytes = bytes.subspan(1);
  wire::MessageReader reader(kProtocol, kLongestMessage);
  while (!bytes.empty()) {
    std::span<uint8_t> space = reader.space();
    require(!space.empty() && space.size() <= 2 * kLongestMessage + 512 * 1024);
    const size_t n = std::min({lump, bytes.size(), space.size()});
    memcpy(space.data(), bytes.data(), n);
    bytes = bytes.subspan(n);
    reader.received(n);
    for (;;) {
      std::span<const uint8_t> message;
      const wire::MessageReader::Next next = reader.next(&message);
      if (next == wire::MessageReader::Next::malformed) return;
      if (next == wire::MessageReader::Next::incomplete) break;
      require(message.size() <= kLongestMessage + kDsiHead);
      uint32_t tag;
      if (!kProtocol.unasked(message) && kProtocol.tag_of(message, &tag)) read_reply(Command::enumerate2, message);
    }
  }
}

void log_in(std::span<const uint8_t> message) {
  Dhx2 exchange("password");
  const std::string_view answer(reinterpret_cast<const char*>(message.data()), message.size());
  if (exchange.answer(answer).empty()) return;
  exchange.answer(answer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::span<const uint8_t> message(data + 1, size - 1);
  if (data[0] == kStream)
    read_stream(message);
  else if (data[0] == kStatus)
    read_status(message);
  else if (data[0] == kDhx2)
    log_in(message);
  else
    read_reply(Command(data[0]), message);
  return 0;
}
