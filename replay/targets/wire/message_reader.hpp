// SPDX-License-Identifier: Apache-2.0
// Cuts a byte stream into messages. Memory is bounded by the longest message allowed, whatever the peer announces; a message in
// one piece is handed out where it was received, without a copy. Belongs to one connection and one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "targets/wire/protocol.hpp"

namespace fsr::wire {

class MessageReader {
 public:
  enum class Next {
    message,
    incomplete,  // more bytes are needed
    malformed,   // not this protocol, or longer than allowed: nothing after it can be understood
  };

  MessageReader(const Protocol& protocol, size_t max_message);

  // Where to receive the next bytes, never empty; messages handed out before become invalid.
  std::span<uint8_t> space();
  void received(size_t bytes);
  // The message that has begun and needs more, after next() said so, as far as it is there in one piece.
  struct PartialMessage {
    std::span<const uint8_t> bytes;
    size_t missing = 0;  // of its last piece; 0: none has begun, or there will be further pieces
  };
  PartialMessage begun() const;
  Next next(std::span<const uint8_t>* message);
  void reset();  // for a new connection

 private:
  void make_room(size_t bytes);

  const Protocol& protocol_;
  const size_t max_message_;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t capacity_ = 0;
  size_t message_begin_ = 0, message_end_ = 0;  // the received part of the message, its fragments joined
  size_t pos_ = 0, end_ = 0;                    // received and not yet looked at
  bool in_body_ = false;                        // pos_ is at the body of `piece_`
  Fragment piece_;
};

}  // namespace fsr::wire
