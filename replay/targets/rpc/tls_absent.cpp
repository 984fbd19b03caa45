// SPDX-License-Identifier: Apache-2.0
// Stands for tls_stream.cpp and tls_credentials.cpp in a build without GnuTLS. tls_settings_of() refuses TLS before these are
// called.
#include <stdexcept>

#include "targets/rpc/tls_library.hpp"

namespace fsr::rpc {

bool tls_built_in() { return false; }

std::shared_ptr<const TlsCredentials> read_credentials(const TlsSettings&) {
  throw std::runtime_error("this build has no TLS: build it with libgnutls28-dev (Fedora: gnutls-devel)");
}
std::unique_ptr<wire::SecureStream> begin_tls(std::shared_ptr<Tls>, const nfs::Procedure&, int) { return nullptr; }

}  // namespace fsr::rpc
