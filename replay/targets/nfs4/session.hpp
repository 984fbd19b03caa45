// SPDX-License-Identifier: Apache-2.0
// A session that performs the operations of one thread on the shared client.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "targets/client_connection.hpp"
#include "targets/nfs4/client.hpp"
#include "targets/nfs4/states.hpp"

namespace fsr::nfs4 {

// A client with the state that the server holds for it.
struct Mount final : Nfs4Client {
  template <class... First>
  Mount(nfs::NfsState& files, RetryWaits& lock_waits, const First&... first)
      : Nfs4Client(first...), states(*this, files, lock_waits) {
    recovery = &states;
  }
  States states;
};

// State that the sessions of a target share. File handles are the same for all clients.
struct Shared final : ClientConnection<Mount> {
  // Makes the clients, of which `churn` a second unmount and mount anew, in all ranks. Throws std::runtime_error, one line.
  Shared(const nfs::NfsOptions& o, uint32_t minor_version, const std::string& path, uint32_t churn);
  ~Shared() override;
  void advance(int64_t now) override;
  wire::Channel::Interest interest(int64_t deadline) override {
    return ClientConnection::interest(churn_ ? std::min(deadline, next_churn_) : deadline);
  }
  nfs::NfsState files;
  uint64_t temporary_opens = 0;  // opens without a handle so far

  Clock& clock() const override { return *client.options.clock; }
  RetryWaits& lock_waits() override { return lock_waits_; }
  bool holds_locks(uint32_t number, ObjectId object, uint64_t owner) override {
    return at(number).states.locks(object, Owner{owner, Owner::record});
  }

 private:
  const uint32_t churn_;
  int64_t next_churn_ = 0;
  uint32_t turn_ = 0;  // number of the client that was asked last to unmount
  RetryWaits lock_waits_;
};

// One operation in flight.
struct OpCall final : SharedCall {
  Shared* shared = nullptr;
  Identity who;
  bool harmful = false;     // a request that must not be made twice may have been performed
  bool sent_twice = false;  // it began again nevertheless (lost_reply.hpp)
  unsigned attempts = 0;
  // Steps that an operation that begins again does not repeat:
  FileHandle made;                    // handle of the file that it has created
  uint64_t verifier = 0;              // verifier of its exclusive create
  bool hid = false;                   // the file that it replaces got a hidden name
  std::optional<uint64_t> append_at;  // offset where it appends
  bool restarted = false;             // a reply to a write showed that the server restarted
  nfs::Batch batch;                   // of a listing

  Mount* mount = nullptr;
  Nfs4Client& client() const { return *mount; }
  nfs::NfsState& files() const { return shared->files; }
  States& states() const { return mount->states; }
  // Returns the user as whom the operation uses a file: the one who opened it, as Linux's client has it. A principal of the map
  // of users stays itself, because no operation may have another's rights.
  const Identity& user_of_open(const Identity& opener) const { return who.principal ? who : opener; }
  Rpc& ask() { return ask(who); }
  Rpc& ask(const Identity& as) { return client().request(this, as); }
  Nfs4Client::ReplyAwaiter send(Rpc& rpc, std::string_view payload = {}) { return client().send(rpc, payload); }
  bool begins_again(int error) const { return connection_broke(error) || error == kStateLost; }
};

class Nfs4Session final : public SharedSession {
 public:
  explicit Nfs4Session(std::shared_ptr<Shared> shared) : SharedSession(*shared), shared_(std::move(shared)) {}
  ~Nfs4Session() override { end(); }

 private:
  std::unique_ptr<SharedCall> make_call() override { return std::make_unique<OpCall>(); }
  void begin(SharedCall& call) override;
  Detached run(OpCall& call);

  std::shared_ptr<Shared> shared_;
};

}  // namespace fsr::nfs4
