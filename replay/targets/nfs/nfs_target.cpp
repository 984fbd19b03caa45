// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs_target.hpp"

#include <stdexcept>

#include "base/lost_locks.hpp"
#include "mix/procedures.hpp"
#include "targets/lost_reply.hpp"
#include "targets/nfs/nfs3_clients.hpp"
#include "targets/nfs/nfs3_ops.hpp"
#include "targets/nfs/nfs3_session.hpp"
#include "targets/nfs/nfs_setup.hpp"
#include "targets/nfs/rpc_client.hpp"
#include "targets/nfs4/nfs4_target.hpp"

namespace fsr::nfs {

namespace {

constexpr int64_t kTimeout = 5'000'000'000, kEndTimeout = 1'000'000'000;  // ns for requests before and after a run

Procedure nfs3(Proc proc) { return {kNfsProgram, kNfs3, uint32_t(proc)}; }

Fidelity stated(const Op& op, bool privileged) { return nfs3_fidelity(op, true, privileged); }

constexpr OpMapping kMapping{"NFSv3", stated, nfs3_requests};
const OpMapping kMappings[] = {kMapping, nfs4::k41Mapping, nfs4::k42Mapping};

class NfsTarget final : public Target {
 public:
  NfsTarget(wire::Url url, const NfsOptions& options) : url_(std::move(url)), state_(std::make_shared<NfsState>(options)) {
    if (options.clients.is_one_of_many()) clients_ = std::make_shared<Nfs3Clients>(state_);
  }

  ~NfsTarget() override {
    clients_.reset();
    give_up_locks();
    remove_hidden_names();
  }

  std::string name() const override { return url_.text.substr(0, url_.text.find('?')); }

  Fidelity fidelity(const Op& op) const override {
    return nfs3_fidelity(op, !state_->options.lock_manager.empty(), state_->options.privileged);
  }
  const OpMapping* mapping() const override { return &kMapping; }

  std::unique_ptr<TargetSession> open_session() override {
    if (clients_) return std::make_unique<Nfs3ClientsSession>(clients_);
    try {
      return std::make_unique<Nfs3Session>(state_);
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(name() + ": " + e.what());
    }
  }

  Space space() override {
    RpcClient client = this->client(kTimeout);
    Reply reply;
    client.call(
        nfs3(Proc::fsstat), state_->options.self, [&](XdrEncoder& out) { encode_handle(out, state_->options.root); },
        [&](XdrDecoder& in) { return decode_results(Proc::fsstat, in, &reply); });
    return {reply.total_bytes, reply.available_bytes};
  }

  bool empty() override {
    RpcClient client = this->client(kTimeout);
    Reply reply;
    uint64_t cookie = 0, asked;
    bool found = false;
    ListingProgress progress;
    auto read = [&](XdrDecoder& in) {
      if (!decode_results(Proc::readdir, in, &reply)) return false;
      for (const Entry& e : reply.entries) {  // names are valid only within this function
        found |= e.name != "." && e.name != ".." && e.name != kLostAndFound;
        cookie = e.cookie;
        progress.entry(e.name);
      }
      return true;
    };
    do {
      asked = cookie;
      uint64_t verifier = reply.verifier;
      client.call(
          nfs3(Proc::readdir), state_->options.self,
          [&](XdrEncoder& out) { encode_readdir(out, state_->options.root, cookie, verifier, state_->options.readdir_max); },
          read);
      if (reply.status || !(found || reply.eof || progress.gets_on(asked, cookie)))
        throw std::runtime_error(name() + ": its root can't be listed");
    } while (!found && !reply.eof);
    return !found;
  }

  uint32_t number_of_clients() const override { return state_->options.clients.clients; }
  std::vector<ClientFigures> client_figures() override { return clients_ ? clients_->figures() : std::vector<ClientFigures>(); }
  const EndedOverTime* ended_over_time() const override { return clients_ ? clients_->ended_over_time() : nullptr; }

  std::vector<std::pair<std::string, uint64_t>> counters() const override {
    const Counters& c = state_->counters;
    std::vector<std::pair<std::string, uint64_t>> all = {{"reconnects", c.wire.reconnects},
                                                         {"requests sent again", c.wire.resent},
                                                         {"requests lost with a connection", c.wire.broken},
                                                         {kDoneWithoutReply, c.done_without_reply},
                                                         {"operations begun again after a reconnect", c.repeated},
                                                         {"requests without an answer", c.wire.timeouts},
                                                         {"requests with no server to go to", c.wire.unreachable},
                                                         {"malformed replies", c.wire.malformed},
                                                         {"unexpected replies", c.wire.unexpected},
                                                         {"requests delayed by the server", c.delayed},
                                                         {"listings that made no progress", c.stuck_listings},
                                                         {"open files removed by renaming", c.hidden},
                                                         {"hidden names left behind", c.hidden_left},
                                                         {"files of which the server lost data", c.lost_files},
                                                         {"bytes of that written again", c.bytes_again},
                                                         {"files of which lost data could not be written again", c.lost_for_good},
                                                         {"locks reclaimed", c.locks_again},
                                                         {kLocksLost, c.locks_lost},
                                                         {"operations on unknown objects", c.unknown}};
    if (state_->options.security) {
      c.gss.list(&all);
      if (state_->options.security->users) state_->options.security->users->list(&all);
    }
    if (state_->options.tls) state_->options.tls->counters.list(&all);
    return all;
  }

  std::vector<std::pair<std::string, uint64_t>> requests() const override {
    std::vector<std::pair<std::string, uint64_t>> out;
    for (unsigned i = 0; i < kProcs; ++i) out.emplace_back(nfs_procedures(kNfs3)[i], state_->counters.requests[i]);
    return out;
  }

 private:
  RpcClient client(int64_t timeout) const {
    const NfsOptions& o = state_->options;
    return RpcClient(name(), o.server, timeout, *o.clock, o.transport(kNfsProgram, kNfs3), o.security);
  }

  // Releases the locks that are left, because a server keeps those of an unmonitored client until it restarts.
  void give_up_locks() {
    const std::vector<HeldLocks::DroppedOwner> left = state_->locks.take_all();
    if (left.empty()) return;
    try {
      const NfsOptions& o = state_->options;
      RpcClient client(name(), o.lock_manager, kEndTimeout, *o.clock, o.transport(kNlmProgram, kNlm4));
      for (const HeldLocks::DroppedOwner& lock : left) {
        LockArguments whole{.caller = state_->lock_caller, .owner = lock.number};
        if (!state_->handle_of(lock.object, &whole.file)) continue;
        client.call(
            {kNlmProgram, kNlm4, uint32_t(LockProc::unlock)}, state_->options.self,
            [&](XdrEncoder& out) { encode_lock_call(out, LockProc::unlock, whole); }, [](XdrDecoder&) { return true; });
      }
    } catch (const std::runtime_error&) {
      // If the lock manager does not reply, no lock can be released.
    }
  }

  // Removes the hidden names of files that were not released, as their releases would have done.
  void remove_hidden_names() {
    std::vector<HiddenName> left;
    state_->objects.for_each([&](uint64_t, Object& o) {
      left.insert(left.end(), o.hidden.begin(), o.hidden.end());
      o.hidden.clear();
    });
    if (left.empty()) return;
    try {
      RpcClient client = this->client(kEndTimeout);
      for (const HiddenName& h : left)
        client.call(
            nfs3(Proc::remove), h.who, [&](XdrEncoder& out) { encode_name(out, h.dir, h.name); },
            [](XdrDecoder&) { return true; });
    } catch (const std::runtime_error&) {
      // If the server does not reply, the names can't be removed. No report follows that could mention them.
    }
  }

  wire::Url url_;
  std::shared_ptr<NfsState> state_;
  std::shared_ptr<Nfs3Clients> clients_;  // null: there is only one
};

// Returns the version that the URL names, by version= or vers= (as for mount(8)). nfs4:// and 4 mean 4.1.
std::string version_of(const wire::Url& url) {
  const bool four = url.scheme == "nfs4";
  const std::string *version = url.option("version"), *vers = url.option("vers");
  if (version && vers && *version != *vers)
    throw std::runtime_error("bad URL '" + url.text + "': version= and vers= contradict each other");
  const std::string given = version ? *version : vers ? *vers : four ? "4.1" : "3";
  if (four && !given.starts_with("4")) throw std::runtime_error("bad URL '" + url.text + "': nfs4:// is version 4.1 or 4.2");
  return given == "4" ? "4.1" : given;
}

std::unique_ptr<Target> open_nfs(const std::string& text, const TargetOptions& options) {
  wire::Url url = wire::parse_url(text);
  try {
    const std::string version = version_of(url);
    if (version == "3") return std::make_unique<NfsTarget>(url, connect_nfs(url, options));
    if (version == "4.1" || version == "4.2") return nfs4::open_target(url, uint32_t(version.back() - '0'), options);
    throw std::runtime_error("bad URL '" + url.text + "': only version=3, version=4.1 and version=4.2 are supported");
  } catch (const std::runtime_error& e) {
    throw std::runtime_error("nfs: " + std::string(e.what()));
  }
}

bool users_are_principals(const std::string& text) { return rpc::wants_kerberos(wire::parse_url(text)); }

}  // namespace

}  // namespace fsr::nfs

namespace fsr {

const TargetPlugin nfs4_plugin{
    .scheme = "nfs4", .help = nullptr, .open = nfs::open_nfs, .users_are_principals = nfs::users_are_principals};

const TargetPlugin nfs_plugin{"nfs",
                              "nfs://host[:port]/export?version=3    an NFS server (3, 4.1, 4.2), by fsreplay's own client",
                              nfs::open_nfs, nfs::kMappings, nfs::users_are_principals};

}  // namespace fsr
