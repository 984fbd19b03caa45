// SPDX-License-Identifier: Apache-2.0
// What the tests of the NFS targets on a real server have in common: run them under tests/servers/ganesha. Every case works in a
// directory of its own below the export and looks at the results from behind the server too.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/clock.hpp"
#include "targets/blocking_session.hpp"
#include "targets/nfs/nfs_target.hpp"
#include "targets/target.hpp"
#include "unit/catch.hpp"

namespace fsr {

namespace fs = std::filesystem;

inline std::string environment(const char* name) {
  const char* value = getenv(name);
  if (!value) throw std::runtime_error(std::string(name) + " is not set: run me under tests/servers/ganesha");
  return value;
}

// A target with a fresh directory in it, object kDir.
constexpr ObjectId kDir = 2;

struct Mounted {
  MonotonicClock clock;
  std::unique_ptr<Target> target;
  std::unique_ptr<BlockingSession> session;
  std::string dir_name;
  fs::path disk;  // the directory behind the server
  uint64_t next = 100;

  // `url`: the variable of tests/servers/ganesha.
  explicit Mounted(const std::string& options = "", bool privileged = true, bool impersonate = false,
                   const char* url = "NFS_VFS_URL") {
    target = nfs_plugin.open(environment(url) + options, {&clock, privileged, impersonate});
    session = std::make_unique<BlockingSession>(*target, clock);
    dir_name = "case-" + std::to_string(getpid()) + "-" + std::to_string(clock.now());
    REQUIRE(run({.kind = OpKind::mkdir, .mode = 0777, .object = kDir, .parent = kRootObject, .name = dir_name}) == 0);
    disk = fs::path(environment("NFS_VFS_DIR")) / dir_name;
  }

  const Outcome& perform(const Op& op, std::string_view payload = {}) { return session->perform(op, payload); }
  int run(const Op& op, std::string_view payload = {}) { return perform(op, payload).error; }

  ObjectId create(std::string_view name, HandleId handle, int flags = O_RDWR) {
    ObjectId object = next++;
    REQUIRE(run({.kind = OpKind::create,
                 .mode = 0644,
                 .open_flags = uint32_t(flags),
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
  int release(HandleId handle) { return run({.kind = OpKind::release, .handle = handle}); }
  uint64_t counter(std::string_view name) {
    for (const auto& [key, value] : target->counters())
      if (key == name) return value;
    FAIL("no counter " << name);
    return 0;
  }
};

inline std::string pattern(size_t size) {
  std::string data(size, 0);
  for (size_t i = 0; i < size; ++i) data[i] = char((i * 2654435761u) >> 13);
  return data;
}

inline std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline size_t hidden_in_root() {
  size_t n = 0;
  for (const auto& entry : fs::directory_iterator(environment("NFS_VFS_DIR")))
    n += entry.path().filename().string().starts_with(".nfs");
  return n;
}

// Thousands of requests under way from several sessions, each answered with its own data.
inline void check_pipelined(Mounted& m) {
  ObjectId file = m.create("file", 1);
  std::string data = pattern(1 << 20);
  REQUIRE(m.write(1, 0, data) == 0);
  constexpr int kThreads = 4, kDepth = 64, kOps = 4000;
  std::atomic<int> good{0};
  auto work = [&](int number) {
    std::unique_ptr<Session> session = m.target->open_session();
    std::vector<Op> ops(kDepth);
    std::vector<Request> requests(kDepth);
    std::vector<size_t> idle;
    struct Sink : Completion {
      std::vector<size_t>* idle;
      const std::string* data;
      std::atomic<int>* good;
      void completed(Request& r) override {
        bool ok = r.outcome.error == 0;
        if (r.op->kind == OpKind::read) ok = ok && r.outcome.data == std::string_view(*data).substr(r.op->offset, r.op->length);
        *good += ok;
        idle->push_back(reinterpret_cast<size_t>(r.owner));
      }
    } sink;
    sink.idle = &idle;
    sink.data = &data;
    sink.good = &good;
    for (size_t i = 0; i < kDepth; ++i) idle.push_back(i);
    int sent = 0, busy = 0;
    while (sent < kOps || idle.size() < kDepth) {
      while (sent < kOps && !idle.empty()) {
        size_t i = idle.back();
        ops[i] =
            sent % 2
                ? Op{.kind = OpKind::getattr, .object = file}
                : Op{.kind = OpKind::read, .handle = 1, .offset = uint64_t(sent * 7919 + number) % 1'000'000, .length = 4097};
        requests[i] = Request{.op = &ops[i], .want_data = true, .owner = reinterpret_cast<void*>(i)};
        if (session->submit(requests[i]) == Submit::busy) {
          ++busy;
          break;
        }
        idle.pop_back();
        ++sent;
      }
      session->poll(m.clock.now() + 1'000'000'000, -1, sink);
    }
    CHECK(busy == 0);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& t : threads) t.join();
  CHECK(good == kThreads * kOps);
}

// What opening says that can't be.
inline std::string refusal(const std::string& url) {
  MonotonicClock clock;
  try {
    nfs_plugin.open(url, {&clock, false, false});
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace fsr
