// SPDX-License-Identifier: Apache-2.0
// Everything that an AFP server can make us read. The first byte of the input is the command that the rest, a whole DSI message,
// is taken to answer. 254: what DSIGetStatus is answered; 253: a stream that is cut into messages; 252: what a DHX2 login is
// answered.
#include "reply_fuzz.hpp"
#include "targets/afp/afp.hpp"
#include "targets/afp/dhx2.hpp"

using namespace fsr;
using namespace fsr::afp;

namespace {

constexpr uint8_t kStatus = 254, kStream = 253, kDhx2 = 252;

void read_reply(Command command, std::span<const uint8_t> message) {
  static Reply reply;
  if (!decode_reply(command, message, &reply)) return;
  check_inside(reply.data, message);
  check_inside(reply.parms.name, message);
  for (const Parms& e : reply.entries) {
    check_inside(e.name, message);
    require(command == Command::old_enumerate || !e.name.empty());
  }
  for (std::string_view v : reply.volumes) check_inside(v, message);
  require(reply.entries.size() <= message.size() / (command == Command::old_enumerate ? 2 : 4));
  require(reply.volumes.size() <= UINT8_MAX);
  require(reply.error >= 0 && reply.error < 4096);
}

void read_status(std::span<const uint8_t> message) {
  ServerInfo info;
  if (!decode_server_info(message, &info)) return;
  require(info.versions.size() <= UINT8_MAX && info.uams.size() <= UINT8_MAX);
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
    read_stream(kProtocol, message, [](auto reply) { read_reply(Command::enumerate2, reply); });
  else if (data[0] == kStatus)
    read_status(message);
  else if (data[0] == kDhx2)
    log_in(message);
  else
    read_reply(Command(data[0]), message);
  return 0;
}
