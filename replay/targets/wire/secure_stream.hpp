// SPDX-License-Identifier: Apache-2.0
// A layer that a channel may have between its messages and its socket, such as TLS. The channel owns the socket and waits for it.
// No function here blocks. Used by one thread.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace fsr::wire {

class SecureStream {
 public:
  enum class Progress {
    wants_to_receive,  // until the socket is readable
    wants_to_send,     // until it is writable
    ready,             // messages may be sent
    failed,            // error() and problem() say why
  };

  // Ends the stream politely if it is whole. The socket must still be open.
  virtual ~SecureStream() = default;

  virtual Progress set_up() = 0;                   // continues the set-up of a new connection
  virtual void took_too_long() = 0;                // called instead if the time for that is over
  virtual int error() const = 0;                   // errno of a failure
  virtual bool is_refused() const = 0;             // true: another attempt would fail for the same reason
  virtual const std::string& problem() const = 0;  // one line with a remedy: why it failed, or what it waits for

  // As sendmsg(2) on a socket that does not block. May take bytes that the socket does not take yet; send({}) sends those later.
  virtual ssize_t send(std::span<const iovec> pieces) = 0;
  virtual bool has_unsent() const = 0;  // there are such bytes
  // As recv(2) on a socket that does not block. Fills `to` if so many bytes have come.
  virtual ssize_t receive(std::span<uint8_t> to) = 0;
  virtual bool has_more() const = 0;  // receive() may have more although the socket is not readable
  virtual void rest() = 0;            // frees memory that only data in flight needs
};

// Makes the streams of a target's connections to one program of a server. Constant once made; any thread.
class StreamSecurity {
 public:
  // Returns the stream of a new connection, which is not set up. `socket` does not block.
  virtual std::unique_ptr<SecureStream> begin(int socket) const = 0;

 protected:
  ~StreamSecurity() = default;
};

}  // namespace fsr::wire
