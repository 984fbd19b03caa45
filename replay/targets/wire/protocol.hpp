// SPDX-License-Identifier: Apache-2.0
// The properties of a protocol of tagged requests and replies that the wire layer needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fsr::wire {

// One piece of a message on the stream: a head of fixed size, then a body.
struct Fragment {
  uint64_t body = 0;  // bytes that follow the head
  bool last = true;   // the message ends with this piece
};

// Stateless; shared by connections and threads.
class Protocol {
 public:
  virtual size_t head_size() const = 0;
  virtual bool keeps_head() const = 0;  // true: the head is part of the message (only for messages of one piece)
  // Parses the head of a piece. False: it is not a head of this protocol.
  virtual bool parse_head(const uint8_t* head, Fragment* piece) const = 0;
  // True: the server sent the message without a request.
  virtual bool unasked(std::span<const uint8_t>) const { return false; }
  // Finds the tag of the request that a message replies to. False: the message is not a reply.
  virtual bool tag_of(std::span<const uint8_t> message, uint32_t* tag) const = 0;
  virtual unsigned tag_bits() const = 0;  // tags are 0 .. 2^bits - 2
  // For debug lines: the name of a request, from Exchange::head, and the status of the reply to it.
  virtual std::string request_name(std::span<const uint8_t> head) const = 0;
  virtual std::string reply_status(std::span<const uint8_t> head, std::span<const uint8_t> message) const = 0;

 protected:
  ~Protocol() = default;
};

}  // namespace fsr::wire
