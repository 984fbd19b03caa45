// SPDX-License-Identifier: Apache-2.0
// Everything that a 9P server can make us read. The first byte of the input is the type of the request that the rest, a whole
// message, is taken to answer; its top bits tell the dialect. 255: the entries of a directory read with Tread; 254: a stream that
// is cut into messages.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "targets/ninep/p9.hpp"
#include "targets/wire/message_reader.hpp"

using namespace fsr;
using namespace fsr::ninep;

namespace {

constexpr uint8_t kStats = 255, kStream = 254;
constexpr size_t kLongestMessage = 100'000;

void require(bool condition) {
  if (!condition) abort();
}

void check_inside(std::string_view view, std::span<const uint8_t> message) {
  if (view.empty()) return;
  const auto* begin = reinterpret_cast<const uint8_t*>(view.data());
  require(begin >= message.data() && begin + view.size() <= message.data() + message.size());
}

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

// The bytes arrive in lumps of the size that the first of them says.
void read_stream(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const size_t lump = bytes[0] * 16 + 1;
  bytes = bytes.subspan(1);
  wire::MessageReader reader(kProtocol, kLongestMessage);
  while (!bytes.empty()) {
    std::span<uint8_t> space = reader.space();
    require(!space.empty() && space.size() <= 2 * kLongestMessage + 512 * 1024);
    size_t n = std::min({lump, bytes.size(), space.size()});
    memcpy(space.data(), bytes.data(), n);
    bytes = bytes.subspan(n);
    reader.received(n);
    for (;;) {
      std::span<const uint8_t> message;
      wire::MessageReader::Next next = reader.next(&message);
      if (next == wire::MessageReader::Next::malformed) return;
      if (next == wire::MessageReader::Next::incomplete) break;
      require(message.size() <= kLongestMessage + 4);
      uint32_t tag;
      if (kProtocol.tag_of(message, &tag)) read_reply(Type(message[4] - 1), message);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::span<const uint8_t> message(data + 1, size - 1);
  if (data[0] == kStream) {
    read_stream(message);
  } else if (data[0] == kStats) {
    static Reply reply;
    for (Dialect dialect : {Dialect::u, Dialect::plain})
      if (decode_stats({reinterpret_cast<const char*>(message.data()), message.size()}, dialect, &reply)) check(reply, message);
  } else {
    read_reply(Type(data[0] & ~1u), message);
  }
  return 0;
}
