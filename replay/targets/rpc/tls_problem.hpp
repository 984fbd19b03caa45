// SPDX-License-Identifier: Apache-2.0
// Says why TLS failed, in one line with a remedy.
#pragma once

#include <gnutls/gnutls.h>

#include <string>

#include "targets/rpc/tls_settings.hpp"

namespace fsr::rpc {

struct TlsProblem {
  std::string line;
  int error = 0;            // errno; EKEYREJECTED, EKEYEXPIRED: of a certificate
  bool is_refused = false;  // another attempt would fail for the same reason
};

// Returns what is wrong with the certificate that the server has sent, as bits of gnutls_certificate_status_t. 0: it may be
// trusted.
unsigned certificate_faults(gnutls_session_t session, const TlsSettings& settings);

// `status`: GnuTLS's error of a handshake, or after it.
TlsProblem tls_problem(gnutls_session_t session, int status, const TlsSettings& settings);

}  // namespace fsr::rpc
