// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/tls.hpp"

namespace fsr::rpc {

namespace {

struct TlsToProgram final : wire::StreamSecurity {
  TlsToProgram(std::shared_ptr<Tls> t, const nfs::Procedure& n) : tls(std::move(t)), null(n) {}
  std::unique_ptr<wire::SecureStream> begin(int socket) const override { return begin_tls(tls, null, socket); }

  const std::shared_ptr<Tls> tls;
  const nfs::Procedure null;
};

}  // namespace

void TlsCounters::set_problem(const std::string& line) {
  std::lock_guard lock(mutex_);
  problem_ = line;
}

void TlsCounters::list(std::vector<std::pair<std::string, uint64_t>>* all) const {
  std::lock_guard lock(mutex_);
  all->emplace_back("connections with TLS", connections);
  all->emplace_back("connections to a server that was not verified (tls-verify=none)", unverified);
  all->emplace_back("connections that TLS ended" + (problem_.empty() ? "" : " (" + problem_ + ")"), failed);
  all->emplace_back("damaged TLS records", damaged);
}

std::shared_ptr<Tls> Tls::of(const wire::Url& url) {
  const std::optional<TlsSettings> settings = tls_settings_of(url);
  return settings ? std::make_shared<Tls>(*settings) : nullptr;
}

std::shared_ptr<const wire::StreamSecurity> Tls::to(uint32_t program, uint32_t version) {
  return std::make_shared<TlsToProgram>(shared_from_this(), nfs::Procedure{program, version, 0});
}

}  // namespace fsr::rpc
