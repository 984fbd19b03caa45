// SPDX-License-Identifier: Apache-2.0
// Puts fragments of IP packets together (RFC 791, section 3.2; RFC 8200, section 4.5), in whatever order they come. Packets that
// never become complete are counted. Foreign bytes: offsets are checked, and memory is bounded. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "flow.hpp"
#include "import/import.hpp"

namespace fsr::capture {

class Fragments {
 public:
  explicit Fragments(ImportSink& sink) : sink_(sink) {}

  struct Piece {
    FlowKey addresses;
    uint32_t id = 0;
    unsigned protocol = 0;
    size_t offset = 0;  // bytes
    bool more = false;  // others follow
    std::string_view bytes;
  };
  // True: this piece completes the packet, and `whole` is its content.
  bool add(const Piece& piece, std::string* whole);
  void finish();

 private:
  using Key = std::tuple<FlowKey, uint32_t, unsigned>;
  struct Packet {
    std::map<size_t, std::string> pieces;  // by offset
    size_t size = 0;                       // where it ends, 0: not known yet
    size_t held = 0;                       // bytes
  };
  void lose(std::map<Key, Packet>::iterator it);

  ImportSink& sink_;
  std::map<Key, Packet> packets_;
  std::deque<Key> order_;  // of their first pieces; some may be done
};

}  // namespace fsr::capture
