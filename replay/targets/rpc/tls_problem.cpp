// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/tls_problem.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <time.h>

#include "util/units.hpp"

namespace fsr::rpc {

namespace {

// The server's certificate, as far as it can be read. Its texts are the server's, and so escaped.
class ServerCertificate {
 public:
  explicit ServerCertificate(gnutls_session_t session) {
    unsigned number = 0;
    const gnutls_datum_t* chain = gnutls_certificate_get_peers(session, &number);
    if (!chain || number == 0 || gnutls_x509_crt_init(&crt_) < 0) return;
    is_readable_ = gnutls_x509_crt_import(crt_, &chain[0], GNUTLS_X509_FMT_DER) == 0;
  }
  ~ServerCertificate() {
    if (crt_) gnutls_x509_crt_deinit(crt_);
  }
  ServerCertificate(const ServerCertificate&) = delete;
  ServerCertificate& operator=(const ServerCertificate&) = delete;

  std::string issuer() const {
    char text[kLongestText];
    size_t size = sizeof text;
    return is_readable_ && gnutls_x509_crt_get_issuer_dn(crt_, text, &size) == 0 ? escape_text({text, size}) : "unknown";
  }
  std::string ends() const { return date(is_readable_ ? gnutls_x509_crt_get_expiration_time(crt_) : -1); }
  std::string begins() const { return date(is_readable_ ? gnutls_x509_crt_get_activation_time(crt_) : -1); }
  // Returns the names and addresses of the server, or its common name.
  std::string names() const {
    std::string all;
    char text[kLongestText];
    for (unsigned i = 0; is_readable_ && i < kMostNames; ++i) {
      size_t size = sizeof text;
      const int type = gnutls_x509_crt_get_subject_alt_name(crt_, i, text, &size, nullptr);
      if (type < 0) break;
      char address[INET6_ADDRSTRLEN];
      std::string name = (type == GNUTLS_SAN_DNSNAME ? "DNS:" : "") + escape_text({text, size});
      if (type == GNUTLS_SAN_IPADDRESS && inet_ntop(size == 4 ? AF_INET : AF_INET6, text, address, sizeof address))
        name = std::string("IP:") + address;
      all += (all.empty() ? "" : ", ") + name;
    }
    size_t size = sizeof text;
    if (all.empty() && is_readable_ && gnutls_x509_crt_get_dn_by_oid(crt_, GNUTLS_OID_X520_COMMON_NAME, 0, 0, text, &size) == 0)
      all = escape_text({text, size});
    return all.empty() ? "no name" : all;
  }

 private:
  static constexpr size_t kLongestText = 512;
  static constexpr unsigned kMostNames = 8;

  static std::string date(time_t t) {
    tm parts{};
    char text[32];
    if (t == time_t(-1) || !gmtime_r(&t, &parts) || !strftime(text, sizeof text, "%F %H:%M:%S UTC", &parts)) return "unknown";
    return text;
  }

  gnutls_x509_crt_t crt_ = nullptr;
  bool is_readable_ = false;
};

TlsProblem of_certificate(gnutls_session_t session, const TlsSettings& s) {
  const unsigned bits = certificate_faults(session, s);
  const ServerCertificate certificate(session);
  const auto rejected = [](const std::string& why) {
    return TlsProblem{"TLS: the server's certificate " + why, EKEYREJECTED, true};
  };
  if (bits & GNUTLS_CERT_SIGNER_NOT_FOUND)
    return rejected("is signed by an unknown authority (" + certificate.issuer() +
                    "); give the authority's certificate by ca=FILE");
  if (bits & GNUTLS_CERT_EXPIRED)
    return {
        "TLS: the server's certificate expired at " + certificate.ends() + "; renew it on the server, or set this host's clock",
        EKEYEXPIRED, true};
  if (bits & GNUTLS_CERT_NOT_ACTIVATED)
    return rejected("is valid from " + certificate.begins() + "; set the clocks of this host and the server");
  if (bits & GNUTLS_CERT_UNEXPECTED_OWNER)
    return rejected("is for " + certificate.names() + " instead of " + s.name + "; use its name in the URL, or give tls-name=");
  if (bits & GNUTLS_CERT_PURPOSE_MISMATCH)
    return rejected("is not for servers; issue one with serverAuth in its extended key usage, or without that extension");
  gnutls_datum_t text{};
  std::string why = "is not valid";
  if (gnutls_certificate_verification_status_print(bits, GNUTLS_CRT_X509, &text, 0) == 0) {
    why = "is not valid: " + std::string(reinterpret_cast<const char*>(text.data), text.size);
    gnutls_free(text.data);
    while (!why.empty() && (why.back() == ' ' || why.back() == '.' || why.back() == '\0')) why.pop_back();
  }
  return rejected(why + "; look at it by certtool -i or openssl x509 -text");
}

TlsProblem of_alert(int alert, const TlsSettings& s) {
  const char* name = gnutls_alert_get_name(gnutls_alert_description_t(alert));
  const std::string said = name ? std::string(name) : "alert " + std::to_string(alert);
  switch (alert) {
    case GNUTLS_A_CERTIFICATE_REQUIRED:
      return {"TLS: the server wants a client's certificate; give xprtsec=mtls, cert=FILE and key=FILE", EKEYREJECTED, true};
    case GNUTLS_A_BAD_CERTIFICATE:
    case GNUTLS_A_UNSUPPORTED_CERTIFICATE:
    case GNUTLS_A_CERTIFICATE_REVOKED:
    case GNUTLS_A_CERTIFICATE_EXPIRED:
    case GNUTLS_A_CERTIFICATE_UNKNOWN:
    case GNUTLS_A_UNKNOWN_CA:
    case GNUTLS_A_ACCESS_DENIED:
      if (!s.cert.empty())
        return {"TLS: the server refuses the client's certificate (" + said +
                    "); give one by cert= that the server's authorities signed",
                EKEYREJECTED, true};
      return {"TLS: the server ended the handshake (" + said + "); look at its log, or give xprtsec=mtls", EKEYREJECTED, true};
    default:
      return {"TLS: the server refused the handshake (" + said + "); it needs TLS 1.3 and a certificate, see its log", EPROTO,
              false};
  }
}

}  // namespace

unsigned certificate_faults(gnutls_session_t session, const TlsSettings& settings) {
  constexpr const char* kRpcTlsServer = "1.3.6.1.5.5.7.3.34";  // RFC 9289, section 5.2.1
  unsigned faults = GNUTLS_CERT_INVALID;
  for (const char* purpose : {GNUTLS_KP_TLS_WWW_SERVER, kRpcTlsServer}) {
    const auto text = [](const char* t) { return reinterpret_cast<unsigned char*>(const_cast<char*>(t)); };
    gnutls_typed_vdata_st wanted[] = {{GNUTLS_DT_DNS_HOSTNAME, text(settings.name.c_str()), 0},
                                      {GNUTLS_DT_KEY_PURPOSE_OID, text(purpose), 0}};
    if (gnutls_certificate_verify_peers(session, wanted, 2, &faults) < 0) return GNUTLS_CERT_INVALID;
    if (!(faults & GNUTLS_CERT_PURPOSE_MISMATCH)) break;
  }
  return faults;
}

TlsProblem tls_problem(gnutls_session_t session, int status, const TlsSettings& settings) {
  switch (status) {
    case GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR:
    case GNUTLS_E_CERTIFICATE_ERROR:
      return of_certificate(session, settings);
    case GNUTLS_E_FATAL_ALERT_RECEIVED:
      return of_alert(gnutls_alert_get(session), settings);
    case GNUTLS_E_PREMATURE_TERMINATION:
    case GNUTLS_E_PULL_ERROR:
    case GNUTLS_E_PUSH_ERROR:
    case GNUTLS_E_SESSION_EOF:
      return {"TLS: the server closed the connection in the handshake; see its log (on Linux, that of tlshd)", ECONNRESET, false};
    case GNUTLS_E_KEY_USAGE_VIOLATION:
      return {"TLS: the server's certificate may not sign; issue one with digitalSignature in its key usage", EKEYREJECTED, true};
    case GNUTLS_E_NO_CERTIFICATE_FOUND:
      return {"TLS: the server has no certificate; install one on the server", EPROTO, false};
    default:
      return {"TLS: " + std::string(gnutls_strerror(status)) + "; does the server speak TLS 1.3?", EPROTO, false};
  }
}

}  // namespace fsr::rpc
