// SPDX-License-Identifier: Apache-2.0
// The TLS library, as rpc/tls.cpp needs it. tls_stream.cpp and tls_credentials.cpp have it by GnuTLS; tls_absent.cpp stands for
// them in a build without it.
#pragma once

#include <memory>
#include <string>

#include "nfs/rpc.hpp"
#include "targets/wire/secure_stream.hpp"

namespace fsr::rpc {

struct TlsSettings;
class Tls;

bool tls_built_in();

// Certificates and keys, read once. Constant; any thread.
class TlsCredentials;
// Throws std::runtime_error, one line, if a file is of no use.
std::shared_ptr<const TlsCredentials> read_credentials(const TlsSettings& settings);

// Returns the stream of a connection to the program whose procedure NULL is `null`.
std::unique_ptr<wire::SecureStream> begin_tls(std::shared_ptr<Tls> tls, const nfs::Procedure& null, int socket);

}  // namespace fsr::rpc
