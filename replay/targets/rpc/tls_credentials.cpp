// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/tls_credentials.hpp"

#include <stdexcept>

#include "targets/rpc/tls_settings.hpp"

namespace fsr::rpc {

namespace {

constexpr char kPriority[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";  // RFC 9289, section 5: nothing older

void need(int status, const std::string& what) {
  if (status < 0) throw std::runtime_error(what + ": " + gnutls_strerror(status));
}

}  // namespace

bool tls_built_in() { return true; }

std::shared_ptr<const TlsCredentials> read_credentials(const TlsSettings& settings) {
  return std::make_shared<TlsCredentials>(settings);
}

TlsCredentials::TlsCredentials(const TlsSettings& s) {
  gnutls_priority_t priority = nullptr;
  need(gnutls_priority_init(&priority, kPriority, nullptr), "GnuTLS has no TLS 1.3");
  priority_.reset(priority);
  gnutls_certificate_credentials_t certificates = nullptr;
  need(gnutls_certificate_allocate_credentials(&certificates), "TLS");
  certificates_.reset(certificates);
  if (!s.ca.empty()) {
    const int found = gnutls_certificate_set_x509_trust_file(certificates, s.ca.c_str(), GNUTLS_X509_FMT_PEM);
    if (found == 0 || found == GNUTLS_E_NO_CERTIFICATE_FOUND || found == GNUTLS_E_BASE64_UNEXPECTED_HEADER_ERROR)
      throw std::runtime_error("ca=" + s.ca + ": has no certificate; expected a file with PEM blocks");
    need(found, "ca=" + s.ca);
  } else if (s.verifies && gnutls_certificate_set_x509_system_trust(certificates) <= 0) {
    throw std::runtime_error("this system trusts no certificate authority; install ca-certificates, or give ca=FILE");
  }
  if (s.cert.empty()) return;
  const int loaded =
      gnutls_certificate_set_x509_key_file2(certificates, s.cert.c_str(), s.key.c_str(), GNUTLS_X509_FMT_PEM, nullptr, 0);
  if (loaded == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
    throw std::runtime_error("key=" + s.key + ": is not the key of the certificate in cert=" + s.cert);
  if (loaded == GNUTLS_E_DECRYPTION_FAILED)
    throw std::runtime_error("key=" + s.key + ": has a password; remove it, for example by openssl pkey");
  need(loaded, "cert=" + s.cert + ", key=" + s.key);
}

}  // namespace fsr::rpc
