// SPDX-License-Identifier: Apache-2.0
// Stands for gss_context.cpp in a build without libgssapi_krb5: no context can be made.
#include <errno.h>

#include "targets/rpc/gss_context.hpp"

namespace fsr::rpc {

struct GssContext::Library {};

bool kerberos_built_in() { return false; }

GssContext::GssContext(const Security&) {
  throw GssError("this build has no Kerberos: build it with libkrb5-dev (Fedora: krb5-devel)", EKEYREJECTED);
}
GssContext::~GssContext() = default;
void GssContext::fetch_ticket() {}
std::string GssContext::next_token(std::string_view) { return {}; }
bool GssContext::established() const { return false; }
uint32_t GssContext::lifetime() const { return 0; }
bool GssContext::add_checksum(std::span<const uint8_t>, std::vector<uint8_t>*) const { return false; }
bool GssContext::checksum_holds(std::span<const uint8_t>, std::string_view) const { return false; }
bool GssContext::add_encrypted(std::span<const std::span<const uint8_t>>, std::vector<uint8_t>*) const { return false; }
std::span<uint8_t> GssContext::decrypt(std::span<uint8_t>) const { return {}; }

}  // namespace fsr::rpc
