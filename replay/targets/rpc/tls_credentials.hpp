// SPDX-License-Identifier: Apache-2.0
// The certificates of a target, and which TLS it wants, in GnuTLS's terms. Constant once made; any thread.
#pragma once

#include <gnutls/gnutls.h>

#include <memory>

#include "targets/rpc/tls_library.hpp"

namespace fsr::rpc {

class TlsCredentials {
 public:
  explicit TlsCredentials(const TlsSettings& settings);

  gnutls_certificate_credentials_t certificates() const { return certificates_.get(); }
  gnutls_priority_t priority() const { return priority_.get(); }

 private:
  template <auto Free>
  struct Freed {
    void operator()(auto* what) const { Free(what); }
  };
  std::unique_ptr<gnutls_certificate_credentials_st, Freed<gnutls_certificate_free_credentials>> certificates_;
  std::unique_ptr<gnutls_priority_st, Freed<gnutls_priority_deinit>> priority_;
};

}  // namespace fsr::rpc
