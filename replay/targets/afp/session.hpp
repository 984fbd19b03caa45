// SPDX-License-Identifier: Apache-2.0
// A session that performs the operations of one thread on the shared connection (client.hpp).
#pragma once

#include <memory>

#include "targets/afp/client.hpp"
#include "targets/afp/tree.hpp"

namespace fsr::afp {

using Shared = PathConnection<AfpClient, Tree>;

// One operation in flight.
struct OpCall final : RepeatableCall {
  explicit OpCall(Shared& s) : shared(s) {}
  Shared& shared;
  AfpClient* performer = nullptr;  // the client
  uint32_t made_did = 0;           // id of the directory that it created

  AfpClient& client() const { return *performer; }
  Tree& tree() const { return shared.tree; }
  Rpc& ask(Command command, bool harmless = true, Dsi dsi = Dsi::command) {
    return client().request(this, command, harmless, dsi);
  }
  // Begins a request on a directory or a name in it: command, a pad byte, the volume, the directory. The caller adds the rest
  // and, last, the path.
  Rpc& ask_at(Command command, uint32_t did, bool harmless = true);
};

class AfpSession final : public SharedSession {
 public:
  explicit AfpSession(std::shared_ptr<Shared> shared) : SharedSession(*shared), shared_(std::move(shared)) {}
  ~AfpSession() override { end(); }

 private:
  std::unique_ptr<SharedCall> make_call() override { return std::make_unique<OpCall>(*shared_); }
  void begin(SharedCall& call) override;
  Detached run(OpCall& call);

  std::shared_ptr<Shared> shared_;
};

}  // namespace fsr::afp
