// SPDX-License-Identifier: Apache-2.0
// The TLS of an NFS target (RFC 9289), as its URL says:
//
//   xprtsec=      none: clear text, the default; tls; mtls: the client has a certificate, too
//   ca=           file of the authorities that may have signed the server's certificate; default: the system's
//   cert=, key=   files of the client's certificate and key, with mtls
//   tls-name=     name or address in the server's certificate; default: the URL's host
//   tls-verify=   none: the server's certificate is not checked
//   tls-mount=    none: MOUNT and the lock manager of version 3 in clear text, for servers with TLS for NFS alone
#pragma once

#include <optional>
#include <string>

#include "targets/wire/url.hpp"

namespace fsr::rpc {

struct TlsSettings {
  std::string name;       // that the server's certificate must have
  std::string ca;         // file; empty: the system's
  std::string cert, key;  // files; empty: the client has no certificate
  bool verifies = true;
  bool only_nfs = false;  // MOUNT and the lock manager get clear text
};

// Reads the options of the URL. None: clear text. Throws std::runtime_error, one line.
std::optional<TlsSettings> tls_settings_of(const wire::Url& url);

}  // namespace fsr::rpc
