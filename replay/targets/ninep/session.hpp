// SPDX-License-Identifier: Apache-2.0
// The operations of one thread on the shared connection. See client.hpp for what is shared and how.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "targets/ninep/client.hpp"
#include "targets/ninep/tree.hpp"
#include "targets/repeatable_call.hpp"

namespace fsr::ninep {

class NinepSession;

// What the sessions of a target share.
struct Shared final : SharedConnection {
  explicit Shared(const Settings& s) : client(s), tree(client) {}
  Client client;
  Tree tree;  // refers to fids of the client

  Clock& clock() const override { return *client.settings.clock; }
  void advance(int64_t now) override {
    client.advance(now);
    tree.lock_waits.retry(now);
  }
  wire::Channel::Interest interest(int64_t deadline) const override { return client.interest(tree.lock_waits.next(deadline)); }
  uint64_t generation() const override { return client.generation(); }
  void cancel(const std::vector<SharedCall*>& calls) override {
    tree.lock_waits.wake();
    client.cancel(calls);
  }
};

// One operation under way.
struct Call final : RepeatableCall {
  Shared* shared = nullptr;
  uint32_t uid = 0, gid = 0;

  Client& client() const { return shared->client; }
  Tree& tree() const { return shared->tree; }
  Rpc& ask(Type type, bool harmless = true) { return client().request(this, type, harmless); }
};

class NinepSession final : public SharedSession {
 public:
  explicit NinepSession(std::shared_ptr<Shared> shared) : SharedSession(*shared), shared_(std::move(shared)) {}
  ~NinepSession() override { end(); }

 private:
  std::unique_ptr<SharedCall> make_call() override { return std::make_unique<Call>(); }
  void begin(SharedCall& call) override;
  Detached run(Call& call);

  std::shared_ptr<Shared> shared_;
};

}  // namespace fsr::ninep
