// SPDX-License-Identifier: Apache-2.0
// Carries messages between ranks: from the root to each other rank and back. One thread.
#pragma once

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

  virtual ~Transport() = default;
  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  // Sends `text`. Messages to one rank arrive in order. `droppable`: may be dropped if the receiver does not read.
  virtual void send(unsigned to, std::string_view text, bool droppable) = 0;
  // Returns the next message from any rank. Sleeps for at most `timeout` ns. None: no message has arrived.
  virtual std::optional<Message> receive(int64_t timeout) = 0;
  // Ends a lost rank, if the transport can; no rank waits for it any more.
  virtual void give_up(unsigned rank) = 0;
};

}  // namespace fsr
