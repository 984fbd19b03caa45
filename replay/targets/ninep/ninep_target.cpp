// SPDX-License-Identifier: Apache-2.0
#include "targets/ninep/ninep_target.hpp"

#include <pwd.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "base/clock.hpp"
#include "targets/blocking_session.hpp"
#include "targets/ninep/ops.hpp"
#include "targets/ninep/session.hpp"
#include "targets/wire/url.hpp"
#include "util/clock_ns.hpp"

namespace fsr::ninep {

namespace {

constexpr uint32_t kDefaultMsize = 128 << 10;

std::string user_name() {
  char buffer[4096];
  passwd entry{}, *found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found) return found->pw_name;
  return "nobody";
}

wire::Address unix_address(const wire::Url& url) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (url.path.empty() || url.path == "/")
    throw std::runtime_error("bad URL '" + url.text + "': expected 9p+unix:///path/of/socket");
  if (url.path.size() >= sizeof address.sun_path)
    throw std::runtime_error("bad URL '" + url.text + "': a socket's path has at most " +
                             std::to_string(sizeof address.sun_path - 1) + " bytes");
  url.path.copy(address.sun_path, url.path.size());
  wire::Address a;
  memcpy(&a.storage, &address, sizeof address);
  a.length = socklen_t(offsetof(sockaddr_un, sun_path) + url.path.size() + 1);
  return a;
}

std::optional<Dialect> wanted_dialect(const wire::Url& url) {
  const std::string* given = url.option("dialect");
  if (!given) return std::nullopt;
  for (Dialect d : {Dialect::l, Dialect::u, Dialect::plain})
    if (strcasecmp(given->c_str(), dialect_name(d)) == 0) return d;
  throw std::runtime_error("bad URL '" + url.text + "': 'dialect' must be 9p2000.L, 9p2000.u or 9p2000");
}

Settings settings_of(const wire::Url& url, const TargetOptions& options, bool local) {
  url.allow_options({"aname", "uname", "dfltuid", "dfltgid", "dialect", "msize", "timeout", "clients", "client-share", "source"});
  Settings s;
  s.clients = ClientShare::of(url);
  s.clock = options.clock;
  s.privileged = options.privileged;
  s.impersonate = options.impersonate;
  const std::string* uname = url.option("uname");
  s.uname = uname ? *uname : !url.user.empty() ? url.user : user_name();
  const std::string* aname = url.option("aname");
  if (aname && !local && url.path != "/")
    throw std::runtime_error("bad URL '" + url.text + "': the tree is named twice, by its path and by aname=");
  s.aname = aname ? *aname : local || url.path == "/" ? std::string() : url.path;
  if (s.aname.size() > 1024 || s.uname.size() > 256)
    throw std::runtime_error("bad URL '" + url.text + "': aname or uname is too long");
  s.uid = uint32_t(url.number("dfltuid", 0, kNoUid - 1, geteuid()));
  s.gid = uint32_t(url.number("dfltgid", 0, kNoUid - 1, getegid()));
  s.dialect = wanted_dialect(url);
  s.msize = uint32_t(url.number("msize", kLeastMsize, kMostMsize, kDefaultMsize));
  s.timeout = int64_t(url.number("timeout", 1, 86400, 60)) * kSecond;
  s.local = wire::LocalAddresses::of(url);
  if (local)
    s.server = {unix_address(url)};
  else
    s.server = wire::resolve(url.host, url.port ? url.port : kPort);
  return s;
}

template <Dialect dialect>
Fidelity fidelity_in(const Op& op, bool privileged) {
  return ninep_fidelity(op, {dialect, dialect == Dialect::l, privileged});
}

constexpr OpMapping kMappings[] = {{"9P2000.L", fidelity_in<Dialect::l>, ninep_requests},
                                   {"9P2000.u", fidelity_in<Dialect::u>, ninep_requests},
                                   {"9P2000", fidelity_in<Dialect::plain>, ninep_requests}};

class NinepTarget final : public Target {
 public:
  NinepTarget(std::string name, const Settings& s) : name_(std::move(name)), shared_(std::make_shared<Shared>(s)) {}

  // Releases the open instances of files with hidden names, so that these are removed.
  ~NinepTarget() override { release_all(*this, *shared_->client.settings.clock, shared_->tree.hidden_opens()); }

  std::string name() const override { return name_; }

  Fidelity fidelity(const Op& op) const override {
    const NinepClient& c = shared_->client;
    return ninep_fidelity(op, {c.dialect(), c.has_xattrs(), c.settings.privileged});
  }

  const OpMapping* mapping() const override {
    const Dialect dialect = shared_->client.dialect();
    return &kMappings[dialect == Dialect::l ? 0 : dialect == Dialect::u ? 1 : 2];
  }

  std::unique_ptr<TargetSession> open_session() override { return std::make_unique<NinepSession>(shared_); }

  void forget_name(ObjectId object, ObjectId parent, std::string_view name) override {
    std::lock_guard lock(shared_->mutex);
    shared_->tree.taken_away(object, parent, name);
  }

  Space space() override {
    const auto [total, free] = shared_->client.space();
    return {total, free};
  }

  uint32_t number_of_clients() const override { return shared_->number_of_clients(); }
  std::vector<ClientFigures> client_figures() override { return shared_->figures(); }
  const EndedOverTime* ended_over_time() const override { return shared_->ended_over_time(); }

  bool empty() override { return root_is_empty(*this, *shared_->client.settings.clock); }

  std::vector<std::pair<std::string, uint64_t>> counters() const override {
    const Counters& c = shared_->client.counters;
    auto all = c.named();
    all.emplace_back("requests withdrawn", c.flushed);
    if (c.unknown_words)
      all.emplace_back("errors with an unknown text, the first '" + shared_->client.unknown_words() + "'", c.unknown_words);
    return all;
  }

 private:
  std::string name_;
  std::shared_ptr<Shared> shared_;
};

std::unique_ptr<Target> open_ninep(const std::string& text, const TargetOptions& options, bool local) {
  wire::Url url;
  try {
    // Insert a host, because parse_url() requires one and the path of a socket has none.
    const std::string prefix = "9p+unix://";
    if (local && text.compare(0, prefix.size() + 1, prefix + "/") != 0)
      throw std::runtime_error("bad URL '" + text + "': expected 9p+unix:///path/of/socket");
    url = wire::parse_url(local ? prefix + "localhost" + text.substr(prefix.size()) : text);
    url.text = text;
    const Settings s = settings_of(url, options, local);
    const std::string name = text.substr(0, text.find('?'));
    try {
      return std::make_unique<NinepTarget>(name, s);
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(name.substr(name.find("//") + 2) + ": " + e.what());
    }
  } catch (const std::runtime_error& e) {
    throw std::runtime_error("9p: " + std::string(e.what()));
  }
}

std::unique_ptr<Target> open_tcp(const std::string& url, const TargetOptions& o) { return open_ninep(url, o, false); }
std::unique_ptr<Target> open_local(const std::string& url, const TargetOptions& o) { return open_ninep(url, o, true); }

}  // namespace

}  // namespace fsr::ninep

namespace fsr {

const TargetPlugin ninep_plugin{
    "9p", "9p://host[:port]/?aname=/srv, 9p+unix:///socket?aname=/srv    a 9P server, by fsreplay's own client", ninep::open_tcp,
    ninep::kMappings};
const TargetPlugin ninep_unix_plugin{"9p+unix", nullptr, ninep::open_local};

}  // namespace fsr
