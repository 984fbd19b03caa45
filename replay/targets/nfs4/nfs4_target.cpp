// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs4/nfs4_target.hpp"

#include <stdexcept>

#include "base/lost_locks.hpp"
#include "mix/procedures.hpp"
#include "targets/blocking_session.hpp"
#include "targets/client_limits.hpp"
#include "targets/lost_reply.hpp"
#include "targets/nfs/nfs_setup.hpp"
#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

namespace {

constexpr uint32_t kLeastSize = 1024, kMostSize = 1 << 20;  // bytes; the most is that of Linux
constexpr uint32_t kReaddirSize = 65536;
constexpr uint32_t kMostChurn = 100'000;  // clients a second

Fidelity stated_41(const Op& op, bool privileged) { return nfs4_fidelity(op, {}, privileged); }
Fidelity stated_42(const Op& op, bool privileged) { return nfs4_fidelity(op, {kOk, kOk, kOk, kOk, kOk, kOk}, privileged); }

constexpr char kBrokenOpens[] =
    "OPENs that failed with an I/O error; NFS-Ganesha needs a descriptor for each open file and each connection (LimitNOFILE=)";

class Nfs4Target final : public Target {
 public:
  Nfs4Target(std::string name, const nfs::NfsOptions& o, uint32_t minor_version, const std::string& path, uint32_t churn)
      : name_(std::move(name)), shared_(std::make_shared<Shared>(o, minor_version, path, churn)) {}

  std::string name() const override { return name_; }

  Fidelity fidelity(const Op& op) const override {
    return nfs4_fidelity(op, shared_->client.offers(), shared_->client.options.privileged);
  }

  const OpMapping* mapping() const override { return shared_->client.minor_version >= 2 ? &k42Mapping : &k41Mapping; }

  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<Nfs4Session>(shared_); }

  Space space() override {
    const auto [total, free] = shared_->client.space();
    return {total, free};
  }

  uint32_t number_of_clients() const override { return shared_->number_of_clients(); }
  std::vector<ClientFigures> client_figures() override { return shared_->figures(); }
  const EndedOverTime* ended_over_time() const override { return shared_->ended_over_time(); }

  bool empty() override { return root_is_empty(*this, *shared_->client.options.clock); }

  std::vector<std::pair<std::string, uint64_t>> counters() const override {
    const Counters& c = shared_->client.counters;
    const nfs::Counters& f = shared_->files.counters;
    const nfs::NfsOptions& o = shared_->client.options;
    std::vector<std::pair<std::string, uint64_t>> all = {{"reconnects", c.wire.reconnects},
                                                         {"requests sent again", c.wire.resent},
                                                         {"sessions made again", c.sessions},
                                                         {"operations begun again", c.repeated},
                                                         {"operations lost with a session", c.lost},
                                                         {kDoneWithoutReply, c.done_without_reply},
                                                         {"open files and locks reclaimed", c.reclaimed},
                                                         {"open files opened again", c.reopened},
                                                         {"locks taken anew", c.relocked},
                                                         {kOpensLost, c.lost_opens},
                                                         {kLocksLost, c.lost_locks},
                                                         {"requests lost with a connection", c.wire.broken},
                                                         {"requests without an answer", c.wire.timeouts},
                                                         {"requests with no server to go to", c.wire.unreachable},
                                                         {"malformed replies", c.wire.malformed},
                                                         {"unexpected replies", c.wire.unexpected},
                                                         {"requests delayed by the server", c.delayed},
                                                         {"requests delayed by its grace period", c.grace},
                                                         {kBrokenOpens, c.broken_opens},
                                                         {"delegations returned", c.delegations},
                                                         {"lease renewals", c.renewals},
                                                         {"clients mounted anew", c.mounted},
                                                         {"times that no client could unmount", c.stayed},
                                                         {"listings that made no progress", f.stuck_listings},
                                                         {"open files removed by renaming", f.hidden},
                                                         {"hidden names left behind", f.hidden_left},
                                                         {"files of which the server lost data", f.lost_files},
                                                         {"bytes of that written again", f.bytes_again},
                                                         {"files of which lost data could not be written again", f.lost_for_good},
                                                         {"operations on unknown objects", f.unknown}};
    if (o.security) {
      c.gss.list(&all);
      if (o.security->users) o.security->users->list(&all);
    }
    if (shared_->client.options.tls) shared_->client.options.tls->counters.list(&all);
    if (shared_->client.minor_version >= 2) add_refusals(all);
    return all;
  }

  std::vector<std::pair<std::string, uint64_t>> requests() const override {
    std::vector<std::pair<std::string, uint64_t>> out;
    const auto names = nfs_procedures(kNfs4);
    for (size_t i = 0; i < names.size(); ++i)
      out.emplace_back(names[i], shared_->client.counters.requests[kNfs4FirstOperation + i]);
    return out;
  }

 private:
  // Adds the operations of 4.2 that this server does not support, with its error.
  void add_refusals(std::vector<std::pair<std::string, uint64_t>>& all) const {
    const Nfs4Client::ServerFeatures& o = shared_->client.offers();
    for (auto [what, status] : {std::pair("ALLOCATE, DEALLOCATE", o.allocate),
                                {"SEEK", o.seek},
                                {"COPY", o.copy},
                                {"CLONE", o.clone},
                                {"extended attributes", o.xattrs},
                                {"READ_PLUS, so READ was used", shared_->client.options.read_plus ? o.read_plus : kOk}})
      if (status != kOk)
        all.emplace_back(std::string("not offered by the server: ") + what + " (" + status_name(status) + ")", 1);
  }

  const std::string name_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace

constexpr OpMapping k41Mapping{"NFSv4.1", stated_41, nfs4_requests};
constexpr OpMapping k42Mapping{"NFSv4.2", stated_42, nfs4_requests};

std::unique_ptr<Target> open_target(const wire::Url& url, uint32_t minor_version, const TargetOptions& options) {
  url.allow_options({"version", "vers",   "proto",    "sec",        "nfsport",   "uid",     "gid",
                     "rsize",   "wsize",  "timeout",  "nconnect",   "resvport",  "clients", "client-share",
                     "slots",   "source", "churn",    "keytab",     "principal", "xprtsec", "ca",
                     "cert",    "key",    "tls-name", "tls-verify", "read-plus"});
  nfs::NfsOptions o = nfs::common_options(url, options);
  o.read_max = uint32_t(url.number("rsize", kLeastSize, kMostSize, kMostSize));
  o.write_max = uint32_t(url.number("wsize", kLeastSize, kMostSize, kMostSize));
  o.readdir_max = kReaddirSize;
  o.slots = uint32_t(url.number("slots", 1, o.slots, o.slots));
  o.read_plus = url.number("read-plus", 0, 1, 0) != 0;
  if (o.read_plus && minor_version < 2) throw std::runtime_error("read-plus=1: needs version 4.2 (version=4.2)");
  const uint32_t clients = o.clients.clients;
  const uint32_t churn = uint32_t(url.number("churn", 1, kMostChurn, 0));
  if (churn && !o.clients.is_one_of_many()) throw std::runtime_error("churn=: needs several clients (clients=)");
  const uint16_t port = url.port ? url.port : uint16_t(url.number("nfsport", 1, 65535, nfs::kNfsPort));
  const wire::LocalPort local =
      clients > nfs::kMostReserved && !url.option("resvport") ? wire::LocalPort::any : nfs::local_port(url);
  o.server = wire::resolve(url.host, port, local);
  o.try_principals();
  try {
    return std::make_unique<Nfs4Target>(url.text.substr(0, url.text.find('?')), o, minor_version, url.path, churn);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(url.host + ":" + std::to_string(port) + ": NFS version 4." + std::to_string(minor_version) + ": " +
                             e.what());
  }
}

}  // namespace fsr::nfs4
