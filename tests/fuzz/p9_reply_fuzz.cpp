// SPDX-License-Identifier: Apache-2.0
// Everything that a 9P server can make us read. The first byte of the input is the type of the request that the rest, a whole
// message, is taken to answer; its top bits tell the dialect. 255: the entries of a directory read with Tread; 254: a stream that
// is cut into messages.
#include "reply_fuzz.hpp"
#include "targets/ninep/p9.hpp"

using namespace fsr;
using namespace fsr::ninep;

namespace {

constexpr uint8_t kStats = 255, kStream = 254;

void check(const Reply& reply, std::span<const uint8_t> message) {
  check_inside(reply.data, message);
  for (const Entry& e : reply.entries) {
    check_inside(e.name, message);
    require(!e.name.empty());
  }
  require(reply.entries.size() <= message.size() / 24);
  require(reply.walked <= kMostNames);
  require(reply.error >= 0 && reply.error < 4096);
}

void read_reply(Type type, std::span<const uint8_t> message) {
  static Reply reply;
  for (Dialect dialect : {Dialect::l, Dialect::u, Dialect::plain})
    if (decode_reply(type, dialect, message, &reply)) check(reply, message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::span<const uint8_t> message(data + 1, size - 1);
  if (data[0] == kStream) {
    read_stream(kProtocol, message, [](auto reply) { read_reply(Type(reply[4] - 1), reply); });
  } else if (data[0] == kStats) {
    static Reply reply;
    for (Dialect dialect : {Dialect::u, Dialect::plain})
      if (decode_stats({reinterpret_cast<const char*>(message.data()), message.size()}, dialect, &reply)) check(reply, message);
  } else {
    read_reply(Type(data[0] & ~1u), message);
  }
  return 0;
}
