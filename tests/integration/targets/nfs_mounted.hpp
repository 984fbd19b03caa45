// SPDX-License-Identifier: Apache-2.0
// What the tests of the NFS targets have in common beside target_on_server.hpp: run them under tests/servers/ganesha.
#pragma once

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "target_on_server.hpp"

namespace fsr {

struct Mounted : TargetOnServer {
  // `url`: the variable of tests/servers/ganesha.
  explicit Mounted(const std::string& options = "", bool privileged = true, bool impersonate = false,
                   const char* url = "NFS_VFS_URL")
      : TargetOnServer(environment(url) + options, environment("NFS_VFS_DIR"), privileged, impersonate) {}
};

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
    std::unique_ptr<TargetSession> session = m.target->open_session();
    std::vector<Op> ops(kDepth);
    std::vector<TargetRequest> requests(kDepth);
    std::vector<size_t> idle;
    struct Sink : Completion {
      std::vector<size_t>* idle;
      const std::string* data;
      std::atomic<int>* good;
      void completed(TargetRequest& r) override {
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
        requests[i] = TargetRequest{.op = &ops[i], .want_data = true, .owner = reinterpret_cast<void*>(i)};
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

}  // namespace fsr
