// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/tls_settings.hpp"

#include <errno.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "targets/rpc/tls_library.hpp"

namespace fsr::rpc {

std::optional<TlsSettings> tls_settings_of(const wire::Url& url) {
  auto refuse = [&](const std::string& why) { throw std::runtime_error("bad URL '" + url.text + "': " + why); };
  const std::string* given = url.option("xprtsec");
  if (!given || *given == "none") {
    for (const char* name : {"ca", "cert", "key", "tls-name", "tls-verify", "tls-mount"})
      if (url.option(name)) refuse(std::string(name) + "=: belongs to xprtsec=tls or xprtsec=mtls");
    return {};
  }
  const bool mutual = *given == "mtls";
  if (!mutual && *given != "tls") refuse("xprtsec=" + *given + ": expected none, tls or mtls");
  if (!tls_built_in())
    refuse("xprtsec=" + *given + ": this build has no TLS; build it with libgnutls28-dev (Fedora: gnutls-devel)");

  auto none = [&](const char* name, const char* otherwise) {
    const std::string* value = url.option(name);
    if (value && *value != "none") refuse(std::string(name) + "=" + *value + ": expected none; leave it out " + otherwise);
    return value != nullptr;
  };
  TlsSettings s;
  s.verifies = !none("tls-verify", "to check the server's certificate");
  s.only_nfs = none("tls-mount", "for TLS with MOUNT and the lock manager, too");
  auto file = [&](const char* name, std::string* to) {
    const std::string* path = url.option(name);
    if (!path) return;
    if (access(path->c_str(), R_OK) < 0) refuse(std::string(name) + "=" + *path + ": " + strerror(errno));
    *to = *path;
  };
  for (const char* name : {"cert", "key"}) {
    if (mutual && !url.option(name)) refuse("xprtsec=mtls: needs the client's certificate and key; give cert=FILE and key=FILE");
    if (!mutual && url.option(name)) refuse(std::string(name) + "=: belongs to xprtsec=mtls");
  }
  for (const char* name : {"ca", "tls-name"})
    if (!s.verifies && url.option(name)) refuse(std::string(name) + "=: contradicts tls-verify=none");
  file("ca", &s.ca);
  file("cert", &s.cert);
  file("key", &s.key);
  if (const std::string* name = url.option("tls-name"); name && name->empty())
    refuse("tls-name=: expected the name or address in the server's certificate");
  s.name = url.option("tls-name") ? *url.option("tls-name") : url.host;
  return s;
}

}  // namespace fsr::rpc
