// SPDX-License-Identifier: Apache-2.0
// TLS of a target's connections, as RFC 9289 has it. Each new connection begins with a call of the procedure NULL that asks for
// TLS (AUTH_TLS). The server agrees by the word STARTTLS. The handshake of TLS 1.3 follows. The first message under TLS is a call
// of NULL again, because a server may refuse the client's certificate only after the handshake. So no operation's request is sent
// on a connection that the server then refuses.
//
// A server without TLS is refused. There is no way back to clear text.
//
// Shared by the threads of a target.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "targets/rpc/tls_library.hpp"
#include "targets/rpc/tls_settings.hpp"

namespace fsr::rpc {

// Counters of connections. Thread-safe.
class TlsCounters {
 public:
  std::atomic<uint64_t> connections{0};  // with TLS, whose first call was answered
  std::atomic<uint64_t> unverified{0};   // connections to a server whose certificate was not checked
  std::atomic<uint64_t> failed{0};       // connections that got no TLS, or that the server ended by an alert
  std::atomic<uint64_t> damaged{0};      // records that are not what the server sent
  void set_problem(const std::string& line);
  // Appends the counters to those of a target, with the reason of the last failure in the name.
  void list(std::vector<std::pair<std::string, uint64_t>>* all) const;

 private:
  mutable std::mutex mutex_;
  std::string problem_;
};

class Tls : public std::enable_shared_from_this<Tls> {
 public:
  // Returns the TLS that the URL asks for. Null: clear text. Throws std::runtime_error, one line.
  static std::shared_ptr<Tls> of(const wire::Url& url);
  explicit Tls(const TlsSettings& s) : settings(s), credentials(read_credentials(s)) {}

  std::shared_ptr<const wire::StreamSecurity> to(uint32_t program, uint32_t version);

  const TlsSettings settings;
  const std::shared_ptr<const TlsCredentials> credentials;
  TlsCounters counters;
};

}  // namespace fsr::rpc
