// SPDX-License-Identifier: Apache-2.0
// A session with an NFSv3 server, and its operations in flight. An operation is a coroutine. Used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/target.hpp"
#include "base/task.hpp"
#include "targets/nfs/nfs3_client.hpp"
#include "targets/shared_session.hpp"

namespace fsr::nfs {

// One operation in flight. Reused.
struct OpCall final : SharedCall {
  Nfs3Client* performer = nullptr;  // the client
  Identity who;
  bool hid = false;        // the file that it replaces got a hidden name
  bool restarted = false;  // a reply to a write showed that the server restarted
  // For lost_reply.hpp:
  bool harmful = false;     // the reply to a request that must not be made twice was lost with its connection
  bool sent_twice = false;  // it began again because of that
  Batch batch;              // of a listing

  Nfs3Client& client() const { return *performer; }
  NfsState& files() const { return performer->files; }
  Rpc& ask(Proc proc) { return ask(proc, who); }
  Rpc& ask(Proc proc, const Identity& as) {
    Rpc& rpc = performer->request(proc, as);
    rpc.call = this;
    return rpc;
  }
  void begin(Nfs3Client& client);  // the operation of `request`
  // Sends a request with these arguments. co_await returns its reply, which is valid until the next co_await.
  template <class... Parameters, class... Arguments>
  Nfs3Client::ReplyAwaiter send(Proc proc, void (*encode)(XdrEncoder&, Parameters...), const Arguments&... arguments) {
    Rpc& rpc = ask(proc);
    XdrEncoder out(rpc.head);
    encode(out, arguments...);
    return performer->send(rpc);
  }
  // For code that is shared with version 4, in which an operation may begin again. Here it is performed once.
  bool begins_again(int) const { return false; }
  std::optional<uint64_t> append_at;  // offset where it appends
};

class Nfs3Session final : public TargetSession {
 public:
  // Connects; throws std::runtime_error, one line.
  explicit Nfs3Session(std::shared_ptr<NfsState> state);

  Submit submit(TargetRequest& request) override;
  void poll(int64_t deadline, int wake, Completion& sink) override;
  void prefer_throughput() override { client_.prefer_throughput(); }

 private:
  Detached run(OpCall& call);
  void finish(OpCall& call, int error);
  void deliver(OpCall& call);

  std::shared_ptr<NfsState> state_;
  std::vector<std::unique_ptr<OpCall>> calls_;
  std::vector<OpCall*> free_calls_;
  // Calls that ended outside of poll(), which delivers them. A security context that can't be made for one call ends others too.
  std::vector<OpCall*> early_;
  Completion* sink_ = nullptr;  // null: outside of poll()
  uint64_t completions_ = 0;
  Nfs3Client client_;  // last member: its end resumes coroutines, which refer to the other members
};

}  // namespace fsr::nfs
