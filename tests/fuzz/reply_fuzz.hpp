// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of servers' replies have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "targets/wire/message_reader.hpp"

namespace fsr {

inline void require(bool condition) {
  if (!condition) abort();
}

inline void check_inside(std::string_view view, std::span<const uint8_t> message) {
  if (view.empty()) return;
  const auto* begin = reinterpret_cast<const uint8_t*>(view.data());
  require(begin >= message.data() && begin + view.size() <= message.data() + message.size());
}

// Cuts a stream into messages and calls read(message) for each that is a reply. The bytes arrive in lumps of the size that the
// first of them says.
template <class Read>
void read_stream(const wire::Protocol& protocol, std::span<const uint8_t> bytes, Read read) {
  constexpr size_t kLongestMessage = 100'000;
  const size_t kept_head = protocol.keeps_head() ? protocol.head_size() : 0;
  if (bytes.empty()) return;
  const size_t lump = bytes[0] * 16 + 1;
  bytes = bytes.subspan(1);
  wire::MessageReader reader(protocol, kLongestMessage);
  while (!bytes.empty()) {
    const std::span<uint8_t> space = reader.space();
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
      require(message.size() <= kLongestMessage + kept_head);
      uint32_t tag;
      if (!protocol.unasked(message) && protocol.tag_of(message, &tag)) read(message);
    }
  }
}

}  // namespace fsr
