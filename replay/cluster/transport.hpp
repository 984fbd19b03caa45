// SPDX-License-Identifier: Apache-2.0
// Carries messages between ranks: from the root to each other rank and back, and between ranks that an MPI launcher started. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fsr {

class Transport {
 public:
  struct Message {
    unsigned from = 0;
    bool gone = false;  // the rank has exited; this is its last message
    std::string text;
  };

  // Bytes that wait for one receiver, from which on offer() refuses further messages. A rank that keeps one more message of a
  // third of this size keeps 64 KB. Three large messages must have room, because both sides look for messages only now and then.
  static constexpr size_t kMostWaiting = 48 << 10;
  // True: a message of `length` bytes may wait beside the `waiting` bytes of others. A single message may be longer.
  static bool has_room(size_t waiting, size_t length) { return waiting == 0 || waiting + length <= kMostWaiting; }

  virtual ~Transport() = default;
  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  // Sends `text`; may wait until the receiver reads. Messages to one rank arrive in order.
  virtual void send(unsigned to, std::string_view text) = 0;
  // Sends `text` if there is room for it, and never waits. False: nothing was sent, because the receiver does not read.
  virtual bool offer(unsigned to, std::string_view text) = 0;
  // True: no message to `to` waits for its receiver, as far as the last receive() saw.
  virtual bool idle(unsigned to) const = 0;
  // Returns the next message from any rank. Sleeps for at most `timeout` ns. None: no message has arrived.
  virtual std::optional<Message> receive(int64_t timeout) = 0;
  // Ends a lost rank, if the transport can; no rank waits for it any more.
  virtual void give_up(unsigned rank) = 0;
};

}  // namespace fsr
