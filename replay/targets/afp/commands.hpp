// SPDX-License-Identifier: Apache-2.0
// Sends single AFP commands whose fields the caller chooses, for programs that measure commands. Has a session of its own. Used
// by one thread.
//
// co_await of a command sends it and returns its Reply, which is valid until the next co_await of any coroutine. Commands of
// several coroutines are sent one after another, without waiting for replies. A break of the connection ends the session: all
// commands then fail with ENOTCONN.
//
// Names are sent unchanged: 7-bit ASCII without '/' and ':'. An empty name means the directory itself.
#pragma once

#include <atomic>
#include <string_view>

#include "targets/afp/client.hpp"

namespace fsr::afp {

class Commands {
 public:
  using ReplyAwaiter = AfpClient::ReplyAwaiter;

  // Logs in and opens the volume. Throws as AfpClient does.
  explicit Commands(const Settings& settings) : client_(settings) {}

  ReplyAwaiter create_file(uint32_t did, std::string_view name);  // fails if the name exists
  ReplyAwaiter create_dir(uint32_t did, std::string_view name);   // its id: Reply::parms.id
  ReplyAwaiter remove(uint32_t did, std::string_view name);
  ReplyAwaiter parms(uint32_t did, std::string_view name, uint16_t file_bitmap, uint16_t dir_bitmap);
  // Return at most `count` entries from `start` on (the first is 1), in a reply of at most `room` bytes.
  ReplyAwaiter old_enumerate(uint32_t did, uint16_t file_bitmap, uint16_t dir_bitmap, uint16_t count, uint16_t start,
                             uint16_t room);
  ReplyAwaiter enumerate(uint32_t did, uint16_t file_bitmap, uint16_t dir_bitmap, uint16_t count, uint16_t start, uint16_t room);
  ReplyAwaiter open_fork(uint32_t did, std::string_view name, uint16_t bitmap, uint16_t access);  // the data fork; Reply::fork
  ReplyAwaiter fork_parms(uint16_t fork, uint16_t bitmap);
  ReplyAwaiter close_fork(uint16_t fork);
  ReplyAwaiter old_lock(uint8_t flags, uint16_t fork, uint32_t offset, uint32_t length);
  ReplyAwaiter old_read(uint16_t fork, uint32_t offset, uint32_t length);
  ReplyAwaiter old_write(uint16_t fork, uint32_t offset, std::string_view data);  // `data` must stay valid until the reply
  ReplyAwaiter read(uint16_t fork, uint64_t offset, uint64_t length);  // Reply::data has the right size, but not the content
  ReplyAwaiter write(uint16_t fork, uint64_t offset, std::string_view data);  // `data` must stay valid until the reply
  ReplyAwaiter volume_parms(uint16_t bitmap);

  uint32_t root() const { return client_.root(); }
  uint32_t write_size() const { return client_.write_size(); }  // data bytes of one request
  const Settings& settings() const { return client_.settings; }

  // Runs the connection until `task`, which sends commands, has ended. Returns the task's value. Disconnects if the user ends the
  // run and no reply comes any more (Clock::given_up).
  int run(Task task);

 private:
  Rpc& at(Command command, uint32_t did);
  Rpc& of_fork(Command command, uint16_t fork, uint8_t flags = 0, Dsi dsi = Dsi::command);
  Rpc& listing(Command command, uint32_t did, uint16_t file_bitmap, uint16_t dir_bitmap, uint16_t count, uint16_t start,
               uint16_t room);

  AfpClient client_;
};

}  // namespace fsr::afp
