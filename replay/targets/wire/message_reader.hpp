// SPDX-License-Identifier: Apache-2.0
// Cuts a byte stream into messages. The longest permitted message limits the memory, whatever length the peer announces. A
// message of one piece is handed out without a copy. Used for one connection and by one thread.
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
    malformed,   // not this protocol, or longer than permitted: the rest of the stream can't be decoded
  };

  MessageReader(const Protocol& protocol, size_t max_message);

  // Returns the memory for the next bytes, never empty. Messages that were handed out become invalid.
  std::span<uint8_t> space();
  void received(size_t bytes);
  // The received part of a message that is incomplete, as next() has returned.
  struct PartialMessage {
    std::span<const uint8_t> bytes;
    size_t missing = 0;  // bytes to come of its last piece; 0: no message has begun, or it has further pieces
  };
  PartialMessage begun() const;
  Next next(std::span<const uint8_t>* message);
  void reset();  // called for a new connection
  // Frees the memory if no message has begun. space() allocates it again.
  void rest();

 private:
  void make_room(size_t bytes);

  const Protocol& protocol_;
  const size_t max_message_;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t capacity_ = 0;
  size_t message_begin_ = 0, message_end_ = 0;  // the received part of the message, its fragments joined
  size_t pos_ = 0, end_ = 0;                    // received, and not parsed yet
  bool in_body_ = false;                        // pos_ is at the body of `piece_`
  Fragment piece_;
};

}  // namespace fsr::wire
