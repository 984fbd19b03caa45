// SPDX-License-Identifier: Apache-2.0
// The sessions of an NFSv3 target with several clients. All sessions share all clients, as in the other protocols. A target with
// one client has a connection for each session instead (nfs3_session.hpp).
#pragma once

#include <memory>

#include "targets/client_connection.hpp"
#include "targets/nfs/nfs3_session.hpp"

namespace fsr::nfs {

struct Nfs3Clients final : ClientConnection<Nfs3Client> {
  // Makes the clients of `state.options`. Throws std::runtime_error, one line.
  explicit Nfs3Clients(std::shared_ptr<NfsState> state);
  ~Nfs3Clients() override;
  Clock& clock() const override { return *state->options.clock; }
  RetryWaits& lock_waits() override { return lock_waits_; }
  bool holds_locks(uint32_t number, ObjectId object, uint64_t owner) override {
    return state->locks.session_of(object, {owner, false}) == &at(number);
  }
  const std::shared_ptr<NfsState> state;

 private:
  RetryWaits lock_waits_;
};

class Nfs3ClientsSession final : public SharedSession {
 public:
  explicit Nfs3ClientsSession(std::shared_ptr<Nfs3Clients> clients) : SharedSession(*clients), clients_(std::move(clients)) {}
  ~Nfs3ClientsSession() override { end(); }

 private:
  std::unique_ptr<SharedCall> make_call() override { return std::make_unique<OpCall>(); }
  void begin(SharedCall& call) override;
  Detached run(OpCall& call);

  std::shared_ptr<Nfs3Clients> clients_;
};

}  // namespace fsr::nfs
