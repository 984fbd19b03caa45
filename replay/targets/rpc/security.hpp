// SPDX-License-Identifier: Apache-2.0
// How the requests of an NFS target are protected, as its URL says:
//
//   sec=                sys: AUTH_SYS, the default; krb5, krb5i, krb5p: RPCSEC_GSS with Kerberos 5
//   keytab=, principal= with Kerberos: a file of keys, and the user whose tickets are used; default: the caller's cache
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "targets/wire/url.hpp"

namespace fsr::rpc {

class Principals;

// rpc_gss_service_t (RFC 2203): what is done for each request.
enum class Service : uint32_t { none = 1, integrity = 2, privacy = 3 };

struct Security {
  Service service = Service::none;
  std::string host;       // the server's principal is nfs/HOST
  std::string keytab;     // file; empty: tickets of the caller's cache
  std::string principal;  // the user's; empty: that of the cache, or the first of the keytab
  // Principals that requests may be made as, beside the client's own user. Null: none.
  std::shared_ptr<Principals> users = nullptr;
  uint32_t user = 0;  // number of `principal` among `users`; 0: the client's own

  Security of_user(uint32_t number) const;  // the same, for one of `users`
  std::string realm() const;                // of `principal`; empty: the default one
};

constexpr uint32_t kAuthSysFlavor = 1, kGssFlavor = 6;
// Returns the pseudo flavor by which MOUNT and SECINFO name a service (RFC 2623).
constexpr uint32_t pseudo_flavor(Service service) { return 390002 + uint32_t(service); }
std::string flavor_name(uint32_t flavor);  // "sys", "krb5", ...; a number if it has no name

// Says that the server takes only other flavors than `wanted`, and which option to give.
std::string wrong_flavor(uint32_t wanted, const std::vector<uint32_t>& offered);

bool wants_kerberos(const wire::Url& url);  // true: sec= is one of Kerberos
// Reads the options of the URL. None: AUTH_SYS. Throws std::runtime_error, one line. `impersonate`: operations are to be
// performed as other users than the client's own. `principals`: the users; empty: users are numbers.
std::optional<Security> security_of(const wire::Url& url, bool impersonate, const std::vector<std::string>& principals);

}  // namespace fsr::rpc
