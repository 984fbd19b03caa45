// SPDX-License-Identifier: Apache-2.0
// How messages get from one rank to another: between the root and each of the others. One thread.
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
    bool gone = false;  // that rank has ended; its last message
    std::string text;
  };

  virtual ~Transport() = default;
  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  // Messages to one rank arrive in order. `droppable`: may get lost where the other side doesn't read.
  virtual void send(unsigned to, std::string_view text, bool droppable) = 0;
  // What comes next from anyone, waiting asleep for at most `timeout` ns.
  virtual std::optional<Message> receive(int64_t timeout) = 0;
  // Nobody waits for that rank any more: it is ended, where that can be done.
  virtual void give_up(unsigned rank) = 0;
};

}  // namespace fsr
