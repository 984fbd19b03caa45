// SPDX-License-Identifier: Apache-2.0
// A session that performs the operations of one thread on the shared connection (client.hpp).
#pragma once

#include <memory>

#include "targets/ninep/client.hpp"
#include "targets/ninep/tree.hpp"

namespace fsr::ninep {

class NinepSession;

using Shared = PathConnection<NinepClient, Tree>;

// One operation in flight.
struct OpCall final : RepeatableCall {
  Shared* shared = nullptr;
  NinepClient* performer = nullptr;  // the client
  uint32_t uid = 0, gid = 0;

  NinepClient& client() const { return *performer; }
  Tree& tree() const { return shared->tree; }
  Rpc& ask(Type type, bool harmless = true) { return client().request(this, type, harmless); }
};

class NinepSession final : public SharedSession {
 public:
  explicit NinepSession(std::shared_ptr<Shared> shared) : SharedSession(*shared), shared_(std::move(shared)) {}
  ~NinepSession() override { end(); }

 private:
  std::unique_ptr<SharedCall> make_call() override { return std::make_unique<OpCall>(); }
  void begin(SharedCall& call) override;
  Detached run(OpCall& call);

  std::shared_ptr<Shared> shared_;
};

}  // namespace fsr::ninep
