// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/settings.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/target.hpp"
#include "targets/afp/ops.hpp"
#include "targets/afp/password.hpp"
#include "targets/client_limits.hpp"
#include "targets/unicode.hpp"
#include "targets/wire/url.hpp"
#include "util/clock_ns.hpp"

namespace fsr::afp {

namespace {

constexpr size_t kClearTextPassword = 8, kDhx2Password = 256, kLongestUser = 255, kLongestVolume = 255;
constexpr Version kVersions[] = {Version::v34, Version::v33, Version::v32, Version::v31, Version::v30};

[[noreturn]] void bad(const wire::Url& url, const std::string& why) {
  throw std::runtime_error("bad URL '" + url.text + "': " + why);
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  for (char& c : all)
    if (c < ' ' || c > '~') c = '?';
  return all.substr(0, 200);
}

bool offers(const std::vector<std::string>& list, const char* name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

Uam wanted_uam(const wire::Url& url) {
  const std::string* given = url.option("uam");
  if (!given) return url.user.empty() ? Uam::guest : Uam::dhx2;
  const Uam uam = *given == "dhx2" ? Uam::dhx2 : *given == "cleartxt" ? Uam::clear_text : Uam::guest;
  if (uam == Uam::guest && *given != "guest") bad(url, "'uam' must be dhx2, cleartxt or guest");
  if (uam == Uam::guest && !url.user.empty()) bad(url, "a guest has no name");
  if (uam != Uam::guest && url.user.empty()) bad(url, "expected afp://user@host/Volume");
  return uam;
}

// Returns the version that the URL names. None: the highest one of the server is used.
std::optional<Version> wanted_version(const wire::Url& url) {
  const std::string* given = url.option("version");
  if (!given) return std::nullopt;
  for (Version v : kVersions)
    if (*given == version_number(v)) return v;
  bad(url, "'version' must be 3.0, 3.1, 3.2, 3.3 or 3.4");
}

Version agree(const ServerInfo& info, std::optional<Version> wanted) {
  for (Version v : kVersions)
    if ((!wanted || v == *wanted) && offers(info.versions, version_name(v))) return v;
  throw std::runtime_error(std::string("server does not speak AFP ") + (wanted ? version_number(*wanted) : "3.0 to 3.4") +
                           ", but " + joined(info.versions));
}

void set_path(const wire::Url& url, Settings* s) {
  for (size_t at = 1; at <= url.path.size();) {
    const size_t end = std::min(url.path.find('/', at), url.path.size());
    const std::string part = url.path.substr(at, end - at);
    at = end + 1;
    if (part.empty()) continue;
    if (s->volume.empty())
      s->volume = part;
    else
      s->directory.push_back(part);
    if (!is_utf8(part) || (!s->directory.empty() && name_problem(part))) bad(url, "'" + part + "' can't be a name in a volume");
  }
  if (s->volume.empty() || s->volume.size() > kLongestVolume) bad(url, "expected afp://[user@]host[:port]/Volume");
}

}  // namespace

Settings settings_of(const wire::Url& url, const TargetOptions& options, const std::string* password) {
  url.allow_options({"version", "uam", "password-file", "timeout", "clients", "client-share", "source"});
  Settings s;
  s.clients = ClientShare::of(url);
  s.clock = options.clock;
  s.local = wire::LocalAddresses::of(url);
  s.privileged = options.privileged;
  s.user = url.user;
  if (s.user.size() > kLongestUser) bad(url, "the user's name is too long");
  s.uam = wanted_uam(url);
  const std::optional<Version> version = wanted_version(url);
  set_path(url, &s);
  s.timeout = int64_t(url.number("timeout", 1, 86400, 60)) * kSecond;
  s.server = wire::resolve(url.host, url.port ? url.port : kPort);
  try {
    const ServerInfo info = ask_server_info(s.server, *s.clock, s.timeout);
    s.version = agree(info, version);
    if (!offers(info.uams, uam_name(s.uam)))
      throw std::runtime_error(std::string("server does not offer the login method ") + uam_name(s.uam) + ", but " +
                               joined(info.uams));
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(url.host + ": " + e.what());
  }
  if (s.uam == Uam::guest) return s;
  s.password = password ? *password : get_password(url.user + "@" + url.host, url.option("password-file"));
  if (s.password.size() > (s.uam == Uam::clear_text ? kClearTextPassword : kDhx2Password))
    throw std::runtime_error(std::string("the password is longer than ") + uam_name(s.uam) + " allows");
  return s;
}

}  // namespace fsr::afp
