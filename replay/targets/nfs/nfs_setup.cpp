// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/nfs_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "targets/nfs/mount3.hpp"
#include "targets/nfs/nlm4.hpp"
#include "targets/nfs/rpc_client.hpp"
#include "targets/wire/channel_set.hpp"
#include "util/clock_ns.hpp"

namespace fsr::nfs {

namespace {

constexpr char kAllowPorts[] = "setcap cap_net_bind_service+ep on the program";
constexpr uint32_t kLeastNfs3Transfer = 1024, kMostNfs3Transfer = 4 << 20;  // bytes, whatever the server prefers

class Setup {
 public:
  Setup(const wire::Url& url, const NfsOptions& o)
      : url_(url),
        addresses_(o.local),
        local_(local_port(url)),
        clock_(*o.clock),
        timeout_(std::min(o.timeout, 10 * kSecond)),
        self_(o.self) {}

  std::vector<wire::Address> at(uint16_t port) const { return addresses_.from(wire::resolve(url_.host, port, local_), 0); }

  // Returns the port of a program, from the URL or else from the portmapper.
  uint16_t port(std::string_view option, uint32_t program, uint32_t version, const char* name) {
    uint16_t given = uint16_t(url_.number(option, 1, 65535, 0));
    if (given) return given;
    uint32_t port = 0;
    std::string where = url_.host + ": portmapper (not needed with " + std::string(option) + "= in the URL)";
    RpcClient portmapper(where, at(kPortmapPort), timeout_, clock_);
    portmapper.call(
        kGetPort, self_, [&](XdrEncoder& out) { encode_getport(out, program, version); },
        [&](XdrDecoder& in) { return decode_getport(in, &port); });
    if (port == 0) throw std::runtime_error(url_.host + " offers no " + name + " over TCP");
    return uint16_t(port);
  }

  // Returns the addresses of the lock manager. Empty: locks are not wanted, or the server has no lock manager.
  std::vector<wire::Address> lock_manager() {
    if (url_.number("nolock", 0, 1, 0)) return {};
    try {
      return at(port("nlmport", kNlmProgram, kNlm4, "lock manager"));
    } catch (const std::runtime_error&) {
      if (url_.option("nlmport")) throw;
      return {};
    }
  }

  // Asks for the export's handle. This stays AUTH_SYS, as that of Linux's client; the reply names the flavors of the export.
  FileHandle mount(const NfsOptions& o) {
    const uint16_t mount_port = port("mountport", kMountProgram, kMountVersion, "MOUNT version 3");
    std::string what = url_.host + ":" + std::to_string(mount_port) + ": MOUNT of '" + url_.path + "'";
    RpcClient client(what, at(mount_port), timeout_, clock_, o.transport(kMountProgram, kMountVersion));
    MountReply reply;
    client.call(
        kMount, self_, [&](XdrEncoder& out) { encode_mount(out, url_.path); },
        [&](XdrDecoder& in) { return decode_mount(in, &reply); });
    if (reply.status) throw std::runtime_error(what + ": " + mount_message(reply.status) + advice(reply.status));
    check_flavors(what, reply.flavors, o.security ? rpc::pseudo_flavor(o.security->service) : rpc::kAuthSysFlavor);
    return reply.root;
  }

  void limits(NfsOptions* o, uint16_t port) {
    std::string what = url_.host + ":" + std::to_string(port) + ": NFS version 3";
    RpcClient client(what, o->server, timeout_, clock_, o->transport(kNfsProgram, kNfs3), o->security);
    Reply reply;
    client.call(
        Procedure{kNfsProgram, kNfs3, uint32_t(Proc::fsinfo)}, self_, [&](XdrEncoder& out) { encode_handle(out, o->root); },
        [&](XdrDecoder& in) { return decode_results(Proc::fsinfo, in, &reply); });
    if (reply.status)
      throw std::runtime_error(what + ": FSINFO failed with status " + std::to_string(reply.status) + advice(reply.status));
    o->root_system = reply.system;
    auto transfer = [&](const char* option, uint32_t server) {
      uint64_t wanted = url_.number(option, kLeastNfs3Transfer, kMostNfs3Transfer, kMostNfs3Transfer);
      return uint32_t(std::min<uint64_t>(wanted, std::clamp(server, kLeastNfs3Transfer, kMostNfs3Transfer)));
    };
    o->read_max = transfer("rsize", reply.read_max);
    o->write_max = transfer("wsize", reply.write_max);
    o->readdir_max = std::clamp(reply.readdir_wanted, 8192u, 65536u);
  }

 private:
  // Throws if the server names the flavors of the export, and the wanted one is none of them. A server that names AUTH_NONE may
  // take others too.
  static void check_flavors(const std::string& what, const std::vector<uint32_t>& offered, uint32_t wanted) {
    const auto has = [&](uint32_t flavor) { return std::find(offered.begin(), offered.end(), flavor) != offered.end(); };
    if (offered.empty() || has(wanted) || (wanted == rpc::kAuthSysFlavor && has(0))) return;
    throw std::runtime_error(what + ": " + rpc::wrong_flavor(wanted, offered));
  }

  // Returns advice for statuses with which servers refuse a source port, among other reasons.
  std::string advice(uint32_t status) const {
    const bool refused = status == 1 || status == 2 || status == 13;
    return refused ? port_advice(local_) : "";
  }

  const wire::Url& url_;
  const wire::LocalAddresses addresses_;
  const wire::LocalPort local_;
  Clock& clock_;
  int64_t timeout_;
  Identity self_;
};

}  // namespace

wire::LocalPort local_port(const wire::Url& url) {
  if (!url.option("resvport")) return wire::LocalPort::reserved_if_possible;
  if (!url.number("resvport", 0, 1, 1)) return wire::LocalPort::any;
  if (!wire::reserved_ports_allowed())
    throw std::runtime_error("resvport=1: no permission for a port below 1024: run as root, or " + std::string(kAllowPorts));
  return wire::LocalPort::reserved;
}

std::string port_advice(wire::LocalPort local) {
  const std::string open_export = "export with 'insecure' (Ganesha: PrivilegedPort=false)";
  if (local == wire::LocalPort::any)
    return "; does the server want a port below 1024, which resvport=0 rules out? Leave resvport out, or " + open_export;
  if (wire::reserved_ports_allowed()) return "";
  return fmt::format("; does the server want a port below 1024, for which this process lacks permission? Run as root, {}, or {}",
                     kAllowPorts, open_export);
}

NfsOptions common_options(const wire::Url& url, const TargetOptions& options) {
  if (url.path.size() > kLongestMountPath) throw std::runtime_error("bad URL '" + url.text + "': the path is too long");
  if (!url.user.empty()) throw std::runtime_error("bad URL '" + url.text + "': NFS has no user names, give uid= and gid=");
  if (const std::string* proto = url.option("proto"); proto && *proto != "tcp")
    throw std::runtime_error("bad URL '" + url.text + "': only proto=tcp is supported");
  NfsOptions o;
  o.clock = options.clock;
  o.privileged = options.privileged;
  o.impersonate = options.impersonate;
  o.connections = unsigned(url.number("nconnect", 1, wire::ChannelSet::kMost, 1));
  o.timeout = int64_t(url.number("timeout", 1, 86400, 60)) * kSecond;
  o.security = rpc::security_of(url, options.impersonate, options.principals);
  o.tls = rpc::Tls::of(url);
  o.clients = ClientShare::of(url);
  o.local = wire::LocalAddresses::of(url);
  o.self = own_identity();
  if (url.option("uid") || url.option("gid")) o.self.groups.clear();
  o.self.uid = uint32_t(url.number("uid", 0, UINT32_MAX, o.self.uid));
  o.self.gid = uint32_t(url.number("gid", 0, UINT32_MAX, o.self.gid));
  return o;
}

NfsOptions connect_nfs(const wire::Url& url, const TargetOptions& options) {
  url.allow_options({"version",  "vers",   "proto",     "sec",      "nfsport",      "mountport", "uid",
                     "gid",      "rsize",  "wsize",     "timeout",  "nconnect",     "nlmport",   "nolock",
                     "resvport", "keytab", "principal", "clients",  "client-share", "source",    "xprtsec",
                     "ca",       "cert",   "key",       "tls-name", "tls-verify",   "tls-mount"});
  NfsOptions o = common_options(url, options);
  Setup setup(url, o);
  uint16_t port = url.port ? url.port : setup.port("nfsport", kNfsProgram, kNfs3, "NFS version 3");
  o.root = setup.mount(o);
  o.server = setup.at(port);
  setup.limits(&o, port);
  if (!o.security || !o.security->users) o.lock_manager = setup.lock_manager();
  o.try_principals();
  if (2 * o.clients.clients > kMostReserved && !url.option("resvport"))
    for (auto* addresses : {&o.server, &o.lock_manager})
      for (wire::Address& address : *addresses) address.local = wire::LocalPort::any;
  return o;
}

}  // namespace fsr::nfs
