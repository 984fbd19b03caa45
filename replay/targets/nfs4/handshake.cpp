// SPDX-License-Identifier: Apache-2.0
// Sets up client id, session and export before the first operation. Restores them, and the state, if the server has forgotten the
// client.
#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include "base/clock.hpp"
#include "targets/nfs/nfs_setup.hpp"
#include "targets/nfs/rpc_protocol.hpp"
#include "targets/nfs4/client.hpp"
#include "targets/nfs4/session.hpp"
#include "util/clock_ns.hpp"

namespace fsr::nfs4 {

namespace {

constexpr int64_t kSetUpTimeout = 10 * kSecond, kEndTimeout = kSecond;
constexpr uint32_t kOverhead = 4096;       // bytes of a request or reply beside its data
constexpr uint32_t kLongestCached = 4096;  // bytes of a reply that a slot keeps; such replies have no data
constexpr uint32_t kLeastTransfer = 1024;
constexpr size_t kPathNamesAtOnce = 8;  // names of the export's path in one request
constexpr unsigned kMostHandshakes = 3;
constexpr std::string_view kProbedXattr = "fsreplay.probe";

uint32_t own_flavor(const nfs::NfsOptions& o) {
  return o.security ? rpc::pseudo_flavor(o.security->service) : rpc::kAuthSysFlavor;
}

// Returns the pseudo flavors of a reply to SECINFO, as MOUNT would name them.
std::vector<uint32_t> flavors_of(const Reply& reply) {
  constexpr std::string_view kKerberos = "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";  // 1.2.840.113554.1.2.2
  std::vector<uint32_t> flavors;
  for (const SecurityFlavor& f : reply.flavors) {
    const bool is_kerberos = f.flavor == rpc::kGssFlavor && f.mechanism.ends_with(kKerberos) && f.service >= 1 && f.service <= 3;
    flavors.push_back(is_kerberos ? rpc::pseudo_flavor(rpc::Service(f.service)) : f.flavor);
  }
  return flavors;
}

std::string wrong_security(const nfs::NfsOptions& o) {
  const std::string given = rpc::flavor_name(own_flavor(o));
  return "the export does not allow sec=" + given + "; give another sec= (sys, krb5, krb5i, krb5p), or export with sec=" + given;
}

bool of_no_use(uint32_t status) { return status == kNotSupported || status == kIllegalOp; }

}  // namespace

Nfs4Client::Nfs4Client(const nfs::NfsOptions& o, uint32_t minor, const std::string& path)
    : options(o),
      minor_version(minor),
      own_counters_(std::make_unique<Counters>()),
      counters(*own_counters_),
      channels_(o.connections, o.local.from(o.server, 0), nfs::kRpcProtocol, channel_options(false), *o.clock, counters.wire) {
  name_owner();
  make_gss();
  const int64_t begun = o.clock->now();
  const int64_t until = begun + std::min(o.timeout, kSetUpTimeout);
  bool done = false;
  set_up(path, &done);
  while (!done && o.clock->now() < until && !o.clock->given_up(begun)) {
    advance(o.clock->now());
    if (!done) channels_.poll(interest(o.clock->look_again(until)).deadline, -1);
  }
  if (!done) problem_ = o.clock->given_up(begun) ? "interrupted" : "no reply";
  if (problem_.empty()) return;
  if (done && clientid_) shut_down();
  const std::string problem = problem_;
  end_everything();
  throw std::runtime_error(problem);
}

Nfs4Client::Nfs4Client(Nfs4Client* first, uint32_t k)
    : options(first->options),
      minor_version(first->minor_version),
      counters(first->counters),
      lease_(first->lease_),
      offers_(first->offers_),
      channels_(options.connections, options.local.from(options.server, k), nfs::kRpcProtocol, channel_options(true),
                *options.clock, counters.wire) {
  name_owner();
  make_gss();
}

Nfs4Client::~Nfs4Client() { end_everything(); }

void Nfs4Client::make_gss() {
  if (options.security)
    gss_.emplace(*options.security, nfs::Procedure{nfs::kNfsProgram, kNfs4, 0}, options.timeout, *options.clock, counters.gss);
}

void Nfs4Client::name_owner() {
  std::random_device random;
  verifier_ = uint64_t(random()) << 32 | random();
  owner_id_ = "fsreplay." + std::to_string(verifier_) + std::to_string(random());
}

void Nfs4Client::add_figures(ClientFigures* figures) const {
  figures->reconnects = channels_.reconnects() - remounts_;
  figures->lost_leases = lost_leases_;
  figures->heard = forgotten_heard_;
  figures->back = back_;
  figures->is_down = !up_ && !is_new_;  // a client that mounts anew is not lost
}

wire::ChannelOptions Nfs4Client::channel_options(bool one_of_many) const {
  wire::ChannelOptions c;
  c.max_message = std::max(options.read_max, options.readdir_max) + kOverhead;
  c.lazy = c.frugal = one_of_many;
  c.depth = 2 * options.slots + 16 + options.context_calls();  // suffices while requests of a lost session are still in flight
  c.request_timeout = options.timeout;
  c.security = options.transport(nfs::kNfsProgram, kNfs4);
  if (c.security) c.connect_timeout = std::min(c.connect_timeout, options.timeout);
  return c;
}

// Sends EXCHANGE_ID and CREATE_SESSION. *new_client: the server does not know this client, so that its state is lost.
Task Nfs4Client::make_session(bool* new_client) {
  for (unsigned attempt = 0;; ++attempt) {
    Rpc& exchange = bare_request();
    exchange.compound.exchange_id(verifier_, owner_id_);
    const Reply& known = co_await send(exchange);
    if (known.error) co_return known.error;
    *new_client = known.clientid != clientid_ || !(known.flags & kConfirmed);
    const uint32_t sequence = known.sequenceid;
    clientid_ = known.clientid;
    if (session_number_ > 0 && !*new_client) {  // the old session may still exist, but can't be used any more
      Rpc& destroy = bare_request();
      destroy.compound.destroy_session(session_);
      co_await send(destroy);
    }
    const uint32_t size = std::max({options.read_max, options.write_max, options.readdir_max}) + kOverhead;
    Rpc& create = bare_request();
    create.compound.create_session(clientid_, sequence, {size, size, kLongestCached, Compound::kMostOps, options.slots});
    const Reply& made = co_await send(create);
    if (made.status == kStaleClientid && attempt + 1 < kMostHandshakes) continue;
    if (made.error) co_return made.error;
    if (made.fore.max_slots == 0 || made.fore.max_operations < Compound::kMostOps / 2 ||
        std::min(made.fore.max_request, made.fore.max_response) < kLeastTransfer + kOverhead)
      co_return EPROTO;
    if (session_number_++ > 0 && !is_new_) ++counters.sessions;
    session_ = made.session;
    limits_ = made.fore;
    slots_.assign(std::min(made.fore.max_slots, options.slots), Slot());
    free_slots_.clear();
    for (uint32_t i = uint32_t(slots_.size()); i-- > 0;) free_slots_.push_back(i);
    retired_ = 0;
    renewed_ = options.clock->now();
    co_return 0;
  }
}

// Binds further connections to the session. After a break, the next SEQUENCE binds a connection again, because this client uses
// no state protection (RFC 8881, 2.10.3.1).
Task Nfs4Client::bind_channels() {
  for (size_t i = 1; i < channels_.size(); ++i) {
    Rpc& rpc = bare_request(i);
    rpc.compound.bind_conn_to_session(session_);
    const Reply& reply = co_await send(rpc);
    if (reply.error) co_return reply.error;
  }
  co_return 0;
}

// Sends RECLAIM_COMPLETE. The server may then grant state that was not reclaimed to other clients.
Task Nfs4Client::complete_reclaim() {
  Rpc& rpc = request(nullptr, options.self);
  rpc.compound.reclaim_complete();
  const Reply& reply = co_await send(rpc);
  co_return reply.status == kCompleteAlready ? 0 : reply.error;
}

Detached Nfs4Client::recover() {
  recovering_ = true;
  recovery_until_ = options.clock->now() + grace_timeout();
  bool new_client = false;
  int error = co_await make_session(&new_client);
  if (!error) error = co_await bind_channels();
  unknown_ |= new_client;
  if (!is_new_ && new_client) {
    ++lost_leases_;
    forgotten_heard_ = heard_;
    back_ = 0;
  }
  const bool anew = unknown_ || suspicious_;
  if (anew && recovery) recovery->forgotten();
  if (!error && unknown_ && recovery) error = co_await recovery->reclaim();
  if (!error && unknown_) error = co_await complete_reclaim();
  if (!error && anew && recovery) error = co_await recovery->regain();
  recovering_ = false;
  recovery_error_ = error;
  if (!error) {
    up_ = !ending_;
    if (unknown_ && !is_new_) back_ = options.clock->now();
    suspicious_ = unknown_ = is_new_ = false;
    if (anew) ++epoch_;
  }
  parked_.wake();
}

Task Nfs4Client::ready(OpCall& call) {
  for (unsigned attempt = 0; attempt < kMostHandshakes && (!up_ || leaving_ != Leaving::no); ++attempt) {
    if (call.cancelled || ending_) co_return ECANCELED;
    if (!recovering_ && leaving_ == Leaving::no) recover();
    if (recovering_ || leaving_ != Leaving::no) co_await parked_.wait(call);
    if (!up_ && recovery_error_ != ENOTCONN) break;
  }
  if (call.cancelled) co_return ECANCELED;
  co_return up_ ? 0 : recovery_error_ ? recovery_error_ : ENOTCONN;
}

void Nfs4Client::suspect(uint64_t epoch) {
  if (epoch != epoch_ || !up_) return;
  suspicious_ = true;
  lose_session();
}

// --- set-up ---

// Asks which flavors the server takes for `name` in a directory; "": for the directory. It is found from the server's root, or
// from `at`, by `names`.
Task Nfs4Client::ask_flavors(const FileHandle* at, std::span<const std::string_view> names, std::string_view name) {
  Rpc& rpc = request(nullptr, options.self);
  at ? rpc.compound.putfh(*at) : rpc.compound.putrootfh();
  for (std::string_view directory : names) rpc.compound.lookup(directory);
  name.empty() ? rpc.compound.secinfo_no_name() : rpc.compound.secinfo(name);
  const Reply& reply = co_await send(rpc);
  co_return reply.error;
}

// Names the flavors that the server takes where it refused a walk because of that of the request (RFC 8881, 2.6.3.1). The walk
// began with a file handle, that of the root or `at`, and looked up `names`. `succeeded`: of these operations.
Task Nfs4Client::name_flavors(const FileHandle* at, std::span<const std::string_view> names, unsigned succeeded) {
  const bool at_name = succeeded > 0 && succeeded <= names.size();
  const auto above = at_name ? names.first(succeeded - 1) : succeeded ? names : names.first(0);
  int error = co_await ask_flavors(at, above, at_name ? names[succeeded - 1] : "");
  std::string where;
  if (at_name && reply_.status == kWrongSecurity) {  // it refuses the directory above as well
    where = above.empty() ? at ? "a directory above it" : "the server's root" : "'" + std::string(above.back()) + "' above it";
    where += ": ";
    error = co_await ask_flavors(at, above, "");
  }
  if (!error && !reply_.flavors.empty()) problem_ = where + rpc::wrong_flavor(own_flavor(options), flavors_of(reply_));
  co_return error;
}

// Finds the export by a walk from the server's root.
Task Nfs4Client::mount(const std::string& path) {
  FileHandle at;
  size_t begin = 0;
  std::vector<std::string_view> names;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) names.push_back(std::string_view(path).substr(begin, end - begin));
    begin = end + 1;
  }
  for (size_t done = 0; done == 0 || done < names.size(); done += kPathNamesAtOnce) {
    Rpc& rpc = request(nullptr, options.self);
    done == 0 ? rpc.compound.putrootfh() : rpc.compound.putfh(at);
    for (size_t i = done; i < std::min(done + kPathNamesAtOnce, names.size()); ++i) rpc.compound.lookup(names[i]);
    rpc.compound.getfh();
    const Reply& reply = co_await send(rpc);
    if (reply.error) {
      const int error = reply.error;
      const uint32_t status = reply.status;
      problem_ = error == ENOENT            ? "no such export"
                 : error == EACCES          ? "access denied by the server"
                 : status == kWrongSecurity ? wrong_security(options)
                                            : strerror(error);
      if (status == kWrongSecurity && reply.done > 0) {
        const std::span<const std::string_view> all = names;
        co_await name_flavors(done ? &at : nullptr, all.subspan(done, std::min(kPathNamesAtOnce, names.size() - done)),
                              reply.done - 1);
      }
      problem_ = "'" + path + "': " + problem_ + (status ? " (" + status_name(status) + ")" : "");
      if (error == ENOENT || error == EACCES || (error == EPERM && status != kWrongSecurity))
        problem_ += nfs::port_advice(options.server[0].local);
      co_return error;
    }
    at = reply.handle;
  }
  options.root = at;
  Rpc& rpc = request(nullptr, options.self);
  rpc.compound.putfh(at).getattr(kServerAttributes);
  const Reply& reply = co_await send(rpc);
  if (reply.error) co_return reply.error;
  options.root_system = reply.server.system;
  if (!S_ISDIR(reply.attr.mode)) problem_ = "'" + path + "' is not a directory";
  set_limits(reply);
  co_return 0;
}

void Nfs4Client::set_limits(const Reply& root) {
  auto limit = [](uint32_t* most, uint64_t server, uint32_t session) {
    if (server == 0) server = UINT32_MAX;  // the server did not send a limit
    *most = std::max(kLeastTransfer, uint32_t(std::min<uint64_t>({*most, server, session - kOverhead})));
  };
  limit(&options.read_max, root.server.max_read, limits_.max_response);
  limit(&options.write_max, root.server.max_write, limits_.max_request);
  options.readdir_max = std::min(options.readdir_max, limits_.max_response - kOverhead);
  if (root.server.lease_time) lease_ = std::clamp(root.server.lease_time, 3u, 3600u);
  total_bytes_ = root.server.total_bytes;
  available_bytes_ = root.server.available_bytes;
}

// Tries optional operations on the root, where they must fail; the error shows whether the server supports them.
Task Nfs4Client::probe() {
  auto on_root = [&]() -> Rpc& {
    Rpc& rpc = request(nullptr, options.self);
    rpc.compound.putfh(options.root);
    return rpc;
  };
  auto answer = [](const Reply& reply) { return of_no_use(reply.status) ? reply.status : uint32_t(kOk); };
  Rpc& seek = on_root();
  seek.compound.seek(kAnonymous, 0, false);
  const Reply& seeks = co_await send(seek);
  offers_.seek = answer(seeks);
  Rpc& allocate = on_root();
  allocate.compound.allocate(kAnonymous, 0, 1);
  const Reply& allocates = co_await send(allocate);
  offers_.allocate = answer(allocates);
  Rpc& copy = on_root();
  copy.compound.savefh().copy(kAnonymous, kAnonymous, 0, 0, 1);
  const Reply& copies = co_await send(copy);
  offers_.copy = answer(copies);
  Rpc& clone = on_root();
  clone.compound.savefh().clone(kAnonymous, kAnonymous, 0, 0, 1);
  const Reply& clones = co_await send(clone);
  offers_.clone = answer(clones);
  if (options.read_plus) {
    Rpc& read = on_root();
    read.compound.read_plus(kAnonymous, 0, 1);
    const Reply& reads = co_await send(read);
    offers_.read_plus = answer(reads);
  }
  Rpc& xattr = on_root();
  xattr.compound.getxattr(kProbedXattr);
  const Reply& xattrs = co_await send(xattr);
  offers_.xattrs = answer(xattrs);
  co_return xattrs.error&& xattrs.status == kOk ? xattrs.error : 0;  // there was no reply
}

Detached Nfs4Client::set_up(std::string path, bool* done) {
  const std::string version = "4." + std::to_string(minor_version);
  bool new_client = false;
  int error = co_await make_session(&new_client);
  if (!error) error = co_await bind_channels();
  if (error) {
    problem_ = gss_ && !gss_->own().problem().empty()   ? gss_->own().problem()
               : reply_.rpc != nfs::RpcStatus::success  ? nfs::rpc_message(reply_.rpc)
               : reply_.status == kMinorVersionMismatch ? "the server does not speak version " + version
               : error == ECONNRESET                    ? "server closed the connection: not an RPC service?"
               : error == ETIMEDOUT                     ? "no reply"
               : error == EPROTO                        ? "the server's limits for a session are too low"
               : reply_.status                          ? "no session: " + status_name(reply_.status)
                                                        : strerror(error);
    if (reply_.rpc == nfs::RpcStatus::authentication && !gss_) problem_ += nfs::port_advice(options.server[0].local);
  } else {
    error = co_await complete_reclaim();
    if (!error) error = co_await mount(path);
    if (!error && minor_version >= 2) error = co_await probe();
    if (error && problem_.empty()) problem_ = strerror(error);
  }
  up_ = !error;
  is_new_ = false;
  *done = true;
}

// --- the end ---

Task Nfs4Client::give_up_session() {
  Rpc& bind = request(nullptr, options.self);  // a session can be destroyed only on a connection that it was used on
  co_await send(bind);
  Rpc& session = bare_request();
  session.compound.destroy_session(session_);
  co_await send(session);
  Rpc& client = bare_request();
  client.compound.destroy_clientid(clientid_);
  co_await send(client);
  if (gss_) gss_->end(channels_[0]);
  co_return 0;
}

Detached Nfs4Client::end_session() {
  if (recovery) co_await recovery->close_all();
  co_await give_up_session();
  ended_ = true;
}

bool Nfs4Client::leave() {
  if (!up_ || ending_ || leaving_ != Leaving::no || (recovery && recovery->has_opens())) return false;
  leaving_ = Leaving::drains;
  touch();
  return true;
}

Detached Nfs4Client::unmount() {
  leaving_ = Leaving::unmounts;
  co_await give_up_session();
  leaving_ = Leaving::gone;
  touch();
}

void Nfs4Client::go_on_leaving() {
  if (leaving_ == Leaving::drains) {
    const bool drained = std::none_of(rpcs_.used.begin(), rpcs_.used.end(), [](const Rpc& rpc) { return rpc.call != nullptr; });
    if (recovering_ || (recovery && recovery->has_opens())) {  // an operation in flight has opened a file: it stays
      leaving_ = Leaving::no;
      if (!recovering_) parked_.wake();
    } else if (drained) {
      unmount();
    }
  } else if (leaving_ == Leaving::gone) {
    leaving_ = Leaving::no;
    is_new_ = true;
    up_ = false;
    clientid_ = 0;
    name_owner();
    ++counters.mounted;
    ++remounts_;
    recovering_ = true;  // keeps requests that the break ends from recovering themselves
    channels_.reset();
    recover();
  }
}

void Nfs4Client::begin_end() {
  ending_ = true;
  ended_ = session_number_ == 0 || silent_ || !channels_[0].up();
  if (!ended_) end_session();
}

void Nfs4Client::shut_down() {
  begin_end();
  if (ended_) return;
  const int64_t begun = options.clock->now();
  auto until = [&] { return std::max(begun, renewed_) + kEndTimeout; };  // counted from the server's last reply
  while (!ended_ && options.clock->now() < until()) {
    advance(options.clock->now());
    if (!ended_) channels_.poll(interest(until()).deadline, -1);
  }
  end_everything();
}

}  // namespace fsr::nfs4
