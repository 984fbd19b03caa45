// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/commands.hpp"

#include <cstdint>

#include "base/clock.hpp"

namespace fsr::afp {

namespace {

constexpr uint8_t kLongNames = 2;  // the type of the path in old_enumerate

Detached finish(Task task, bool* done, int* error) {
  *error = co_await task;
  *done = true;
}

}  // namespace

Rpc& Commands::at(Command command, uint32_t did) {
  Rpc& rpc = client_.request(nullptr, command);
  rpc.out().u8(0).u16(client_.volume()).u32(did);
  return rpc;
}

Rpc& Commands::of_fork(Command command, uint16_t fork, uint8_t flags, Dsi dsi) {
  Rpc& rpc = client_.request(nullptr, command, true, dsi);
  rpc.out().u8(flags).u16(fork);
  return rpc;
}

Commands::ReplyAwaiter Commands::create_file(uint32_t did, std::string_view name) {
  Rpc& rpc = at(Command::create_file, did);
  rpc.out().path(name);
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::create_dir(uint32_t did, std::string_view name) {
  Rpc& rpc = at(Command::create_dir, did);
  rpc.out().path(name);
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::remove(uint32_t did, std::string_view name) {
  Rpc& rpc = at(Command::remove, did);
  rpc.out().path(name);
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::parms(uint32_t did, std::string_view name, uint16_t file_bitmap, uint16_t dir_bitmap) {
  Rpc& rpc = at(Command::get_file_dir_parms, did);
  rpc.out().u16(file_bitmap).u16(dir_bitmap).path(name);
  return client_.send(rpc);
}

Rpc& Commands::listing(Command command, uint32_t did, uint16_t file_bitmap, uint16_t dir_bitmap, uint16_t count, uint16_t start,
                       uint16_t room) {
  Rpc& rpc = at(command, did);
  rpc.out().u16(file_bitmap).u16(dir_bitmap).u16(count).u16(start).u16(room);
  return rpc;
}

Commands::ReplyAwaiter Commands::old_enumerate(uint32_t did, uint16_t file_bitmap, uint16_t dir_bitmap, uint16_t count,
                                               uint16_t start, uint16_t room) {
  Rpc& rpc = listing(Command::old_enumerate, did, file_bitmap, dir_bitmap, count, start, room);
  rpc.out().u8(kLongNames).pascal({});
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::enumerate(uint32_t did, uint16_t file_bitmap, uint16_t dir_bitmap, uint16_t count,
                                           uint16_t start, uint16_t room) {
  Rpc& rpc = listing(Command::enumerate, did, file_bitmap, dir_bitmap, count, start, room);
  rpc.out().path({});
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::open_fork(uint32_t did, std::string_view name, uint16_t bitmap, uint16_t access) {
  Rpc& rpc = at(Command::open_fork, did);
  rpc.out().u16(bitmap).u16(access).path(name);
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::fork_parms(uint16_t fork, uint16_t bitmap) {
  Rpc& rpc = of_fork(Command::get_fork_parms, fork);
  rpc.out().u16(bitmap);
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::close_fork(uint16_t fork) { return client_.send(of_fork(Command::close_fork, fork)); }

Commands::ReplyAwaiter Commands::old_lock(uint8_t flags, uint16_t fork, uint32_t offset, uint32_t length) {
  Rpc& rpc = of_fork(Command::old_lock, fork, flags);
  rpc.out().u32(offset).u32(length);
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::old_read(uint16_t fork, uint32_t offset, uint32_t length) {
  Rpc& rpc = of_fork(Command::old_read, fork);
  rpc.out().u32(offset).u32(length).u16(0);  // no character ends the read
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::old_write(uint16_t fork, uint32_t offset, std::string_view data) {
  Rpc& rpc = of_fork(Command::old_write, fork, 0, Dsi::write);
  rpc.out().u32(offset).u32(uint32_t(data.size()));
  return client_.send(rpc, data);
}

Commands::ReplyAwaiter Commands::read(uint16_t fork, uint64_t offset, uint64_t length) {
  Rpc& rpc = of_fork(Command::read, fork);
  rpc.out().u64(offset).u64(length);
  rpc.wanted = kDsiHead;
  return client_.send(rpc);
}

Commands::ReplyAwaiter Commands::write(uint16_t fork, uint64_t offset, std::string_view data) {
  Rpc& rpc = of_fork(Command::write, fork, 0, Dsi::write);
  rpc.out().u64(offset).u64(data.size());
  return client_.send(rpc, data);
}

Commands::ReplyAwaiter Commands::volume_parms(uint16_t bitmap) {
  Rpc& rpc = client_.request(nullptr, Command::get_volume_parms);
  rpc.out().u8(0).u16(client_.volume()).u16(bitmap);
  return client_.send(rpc);
}

int Commands::run(Task task) {
  Clock& clock = *client_.settings.clock;
  bool done = false;
  int error = 0;
  finish(std::move(task), &done, &error);
  int64_t last_reply = clock.now();  // approximate, because reading the clock for each command would take measurable time
  while (!done) {
    const int64_t until = clock.look_again(INT64_MAX);
    if (client_.wait(until))
      last_reply = until;
    else if (clock.given_up(last_reply))
      client_.disconnect();
  }
  return error;
}

}  // namespace fsr::afp
