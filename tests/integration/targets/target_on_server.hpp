// SPDX-License-Identifier: Apache-2.0
// What the tests of targets on real servers have in common: run them under the server's script in tests/servers. Every case works
// in a directory of its own and looks at the results from behind the server too.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/clock.hpp"
#include "base/target.hpp"
#include "targets/blocking_session.hpp"
#include "unit/catch.hpp"

namespace fsr {

namespace fs = std::filesystem;

inline std::string environment(const char* name) {
  const char* value = getenv(name);
  if (!value) throw std::runtime_error(std::string(name) + " is not set: run me under the server's script in tests/servers");
  return value;
}

// "diod --stop"
inline void server(const std::string& command) {
  REQUIRE(system((environment("FSR_SOURCE") + "/tests/servers/" + command).c_str()) == 0);
}

constexpr ObjectId kDir = 2;

// A target with a fresh directory in it, object kDir.
struct TargetOnServer {
  MonotonicClock clock;
  std::unique_ptr<Target> target;
  std::unique_ptr<BlockingSession> session;
  std::string dir_name;
  fs::path disk;  // the directory behind the server
  uint64_t next = 100;

  // `root`: the target's, behind the server.
  TargetOnServer(const std::string& url, const fs::path& root, bool privileged, bool impersonate) {
    target = open_target(url, {&clock, privileged, impersonate});
    session = std::make_unique<BlockingSession>(*target, clock);
    dir_name = "case-" + std::to_string(getpid()) + "-" + std::to_string(clock.now());
    REQUIRE(run({.kind = OpKind::mkdir, .mode = 0777, .object = kDir, .parent = kRootObject, .name = dir_name}) == 0);
    disk = root / dir_name;
  }

  const Outcome& perform(const Op& op, std::string_view payload = {}) { return session->perform(op, payload); }
  int run(const Op& op, std::string_view payload = {}) { return perform(op, payload).error; }

  ObjectId create(std::string_view name, HandleId handle, uint32_t flags = O_RDWR, uint32_t uid = 0) {
    ObjectId object = next++;
    REQUIRE(run({.kind = OpKind::create,
                 .uid = uid,
                 .gid = uid,
                 .mode = 0644,
                 .open_flags = flags,
                 .object = object,
                 .parent = kDir,
                 .handle = handle,
                 .name = name}) == 0);
    return object;
  }
  int write(HandleId handle, uint64_t offset, std::string_view data) {
    const Outcome& o = perform({.kind = OpKind::write, .handle = handle, .offset = offset, .length = data.size()}, data);
    if (o.error == 0) CHECK(o.result == data.size());
    return o.error;
  }
  std::string read(HandleId handle, uint64_t offset, uint64_t length) {
    const Outcome& o = perform({.kind = OpKind::read, .handle = handle, .offset = offset, .length = length});
    CHECK(o.error == 0);
    CHECK(o.result == o.data.size());
    return std::string(o.data);
  }
  int lock(ObjectId object, HandleId handle, uint64_t owner, uint64_t offset, uint64_t length, uint32_t type = F_WRLCK) {
    return run({.kind = OpKind::setlk,
                .mode = type,
                .object = object,
                .handle = handle,
                .offset = offset,
                .length = length,
                .owner = owner});
  }
  int release(HandleId handle) { return run({.kind = OpKind::release, .handle = handle}); }
  uint64_t counter(std::string_view name) {
    for (const auto& [key, value] : target->counters())
      if (key == name) return value;
    FAIL("no counter " << name);
    return 0;
  }
};

// Operations in flight at once, on sessions of one target.
struct Concurrent final : Completion {
  explicit Concurrent(TargetOnServer& t) : on(t) {}
  void completed(TargetRequest& request) override {
    --left;
    if (then) then(request);
  }
  void submit(TargetSession& session, TargetRequest& request) { left += session.submit(request) == Submit::queued; }
  void await(std::initializer_list<TargetSession*> sessions) {
    while (left > 0)
      for (TargetSession* session : sessions) session->poll(on.clock.now() + 1'000'000, -1, *this);
  }
  TargetOnServer& on;
  int left = 0;
  std::function<void(TargetRequest&)> then;  // called when one completes
};

inline std::string pattern(size_t size) {
  std::string data(size, 0);
  for (size_t i = 0; i < size; ++i) data[i] = char((i * 2654435761u) >> 13);
  return data;
}

// What opening says that can't be.
inline std::string refusal(const std::string& url) {
  MonotonicClock clock;
  try {
    open_target(url, {&clock, false, false});
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

inline void check_read_only(Target& target) {
  MonotonicClock clock;
  BlockingSession session(target, clock);
  CHECK(session.perform({.kind = OpKind::mkdir, .mode = 0755, .object = 5, .parent = kRootObject, .name = "x"}).error == EROFS);
  CHECK(target.space().total > 0);
  CHECK(session.perform({.kind = OpKind::statfs, .object = kRootObject}).error == 0);
  CHECK(session.perform({.kind = OpKind::null}).error == 0);
}

// Three clients: what one of them made and opened, the others use; locks of one are another's to the server. A copy between files
// that two of them opened is right, and an owner that has a file open at two of them does not exclude itself.
inline void check_clients(TargetOnServer& t) {
  REQUIRE(t.target->number_of_clients() == 3);
  const std::unique_ptr<TargetSession> session = t.target->open_session();
  auto by = [&](uint64_t stream, const Op& op, std::string_view payload = {}) {
    Concurrent one(t);
    TargetRequest request{.op = &op, .payload = payload, .stream = stream};
    one.submit(*session, request);
    one.await({session.get()});
    return request.outcome.error;
  };
  const ObjectId file = t.next++;
  auto lock_as = [&](uint64_t owner, HandleId handle, uint32_t type) {
    return by(handle, {.kind = OpKind::setlk, .mode = type, .object = file, .handle = handle, .length = 10, .owner = owner});
  };
  auto lock = [&](uint64_t stream, HandleId handle, uint32_t type) {
    return by(stream, {.kind = OpKind::setlk, .mode = type, .object = file, .handle = handle, .length = 10, .owner = handle});
  };
  REQUIRE(by(4, {.kind = OpKind::create,
                 .mode = 0644,
                 .open_flags = O_RDWR,
                 .object = file,
                 .parent = kDir,
                 .handle = 1,
                 .name = "shared"}) == 0);
  CHECK(by(2, {.kind = OpKind::write, .handle = 1, .length = 4}, "text") == 0);  // the client that opened it writes
  REQUIRE(by(2, {.kind = OpKind::open, .open_flags = O_RDWR, .object = file, .handle = 2}) == 0);
  CHECK(by(2, {.kind = OpKind::read, .handle = 2, .length = 4}) == 0);
  REQUIRE(lock(1, 1, F_WRLCK) == 0);
  CHECK(lock(2, 2, F_WRLCK) == EAGAIN);
  CHECK(lock(0, 1, F_UNLCK) == 0);
  CHECK(lock(2, 2, F_WRLCK) == 0);
  CHECK(lock(2, 2, F_UNLCK) == 0);
  CHECK(lock_as(9, 1, F_WRLCK) == 0);
  CHECK(lock_as(9, 2, F_WRLCK) == 0);
  CHECK(lock_as(8, 2, F_WRLCK) == EAGAIN);
  CHECK(by(0, {.kind = OpKind::flush, .object = file, .handle = 2, .owner = 9}) == 0);
  CHECK(lock_as(8, 2, F_WRLCK) == 0);
  CHECK(lock_as(8, 1, F_UNLCK) == 0);
  const ObjectId copy = t.next++;
  REQUIRE(by(2, {.kind = OpKind::create,
                 .mode = 0644,
                 .open_flags = O_RDWR,
                 .object = copy,
                 .parent = kDir,
                 .handle = 3,
                 .name = "copy"}) == 0);
  CHECK(by(0, {.kind = OpKind::copy_file_range, .object = file, .object2 = copy, .handle = 1, .handle2 = 3, .length = 4}) == 0);
  CHECK(t.read(3, 0, 10) == "text");
  CHECK(by(0, {.kind = OpKind::release, .handle = 3}) == 0);
  CHECK(by(0, {.kind = OpKind::release, .handle = 2}) == 0);
  CHECK(by(0, {.kind = OpKind::release, .handle = 1}) == 0);
  CHECK(by(2, {.kind = OpKind::rename, .object = file, .parent = kDir, .parent2 = kDir, .name = "shared", .name2 = "moved"}) ==
        0);
  for (uint64_t stream = 0; stream < 3; ++stream) CHECK(by(stream, {.kind = OpKind::getattr, .object = file}) == 0);
  CHECK(by(0, {.kind = OpKind::unlink, .object = file, .parent = kDir, .name = "moved"}) == 0);
  CHECK(by(1, {.kind = OpKind::release, .handle = 1}) == EBADF);
  for (const ClientFigures& figures : t.target->client_figures()) {
    CHECK(figures.times.count() > 0);
    CHECK(!figures.is_down);
    CHECK(figures.reconnects == 0);
  }
}

// What is open goes on after the server, of that script, restarts.
inline void check_restart(TargetOnServer& t, const std::string& script) {
  ObjectId file = t.create("file", 1);
  REQUIRE(t.write(1, 0, "before") == 0);
  server(script + " --stop");
  server(script + " --start");
  CHECK(t.run({.kind = OpKind::getattr, .object = file}) == 0);
  CHECK(t.read(1, 0, 10) == "before");
  REQUIRE(t.write(1, 6, " after") == 0);
  CHECK(t.read(1, 0, 20) == "before after");
  CHECK(t.counter("open files opened again") == 1);
  CHECK(t.release(1) == 0);
}

// Operations fail in time while the server, of that script, is away, and succeed when it is back.
inline void check_absence(TargetOnServer& t, const std::string& script) {
  server(script + " --stop");
  const int64_t begin = t.clock.now();
  CHECK(t.run({.kind = OpKind::getattr, .object = kDir}) != 0);
  CHECK(t.clock.now() - begin < 30'000'000'000);
  server(script + " --start");
  int error = -1;
  for (int i = 0; i < 50 && error; ++i) {
    error = t.run({.kind = OpKind::getattr, .object = kDir});
    if (error) usleep(100'000);
  }
  CHECK(error == 0);
}

}  // namespace fsr
