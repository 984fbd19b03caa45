// SPDX-License-Identifier: Apache-2.0
// The operations of one thread on the shared connection. See client.hpp for what is shared and how.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "targets/ninep/client.hpp"
#include "targets/ninep/tree.hpp"
#include "targets/target.hpp"
#include "targets/wait.hpp"

namespace fsr::ninep {

class NinepSession;

// What the sessions of a target share.
struct Shared {
  explicit Shared(const Settings& s) : client(s), tree(client) {}
  Client client;
  Tree tree;  // refers to fids of the client
  std::vector<NinepSession*> sessions;
};

// One operation under way.
struct Call {
  Shared* shared = nullptr;
  NinepSession* session = nullptr;
  Request* request = nullptr;
  uint32_t uid = 0, gid = 0;
  bool submitting = false, finished = true;
  bool cancelled = false;
  bool harmful = false;  // a request that must not be made twice may have been performed
  unsigned attempts = 0;
  uint64_t moves = 0;  // Tree::moves when it began
  std::string buffer;  // what the outcome's data refers to, or the names of a listing
  std::vector<uint32_t> name_sizes;
  std::vector<DirEntry> entries;

  const Op& op() const { return *request->op; }
  Client& client() const { return shared->client; }
  Tree& tree() const { return shared->tree; }
  void auxiliary() { ++request->outcome.auxiliary; }
  Rpc& ask(Type type, bool harmless = true) { return client().request(this, type, harmless); }
};

class NinepSession final : public Session {
 public:
  static constexpr unsigned kMostCalls = 128;

  explicit NinepSession(std::shared_ptr<Shared> shared);
  ~NinepSession() override;
  Submit submit(Request& request) override;
  void poll(int64_t deadline, int wake, Completion& sink) override;

 private:
  Detached run(Call& call);
  void finish(Call& call, int error);
  unsigned deliver(Completion& sink);

  std::shared_ptr<Shared> shared_;
  // Under the client's mutex:
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Call*> free_calls_, done_;
  bool polling_ = false;  // this session's thread handles replies now
  // The thread's own:
  std::vector<Call*> delivering_;
  Bell bell_;
};

}  // namespace fsr::ninep
