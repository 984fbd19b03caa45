// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/security.hpp"

#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "targets/rpc/gss_context.hpp"
#include "targets/rpc/principals.hpp"

namespace fsr::rpc {

std::string flavor_name(uint32_t flavor) {
  if (flavor == 0) return "none";
  if (flavor == kAuthSysFlavor) return "sys";
  for (const auto& [service, name] :
       {std::pair(Service::none, "krb5"), {Service::integrity, "krb5i"}, {Service::privacy, "krb5p"}})
    if (flavor == pseudo_flavor(service)) return name;
  return std::to_string(flavor);
}

std::string wrong_flavor(uint32_t wanted, const std::vector<uint32_t>& offered) {
  std::string names, known;
  for (uint32_t flavor : offered) {
    const std::string name = flavor_name(flavor);
    names += (names.empty() ? "" : ", ") + name;
    const bool spoken = flavor == kAuthSysFlavor || name.starts_with("krb5");
    if (known.empty() && spoken) known = name;
  }
  return "the export does not allow sec=" + flavor_name(wanted) + ", but sec=" + names +
         (known.empty() ? "; none of these is supported" : "; give sec=" + known + " in the URL");
}

Security Security::of_user(uint32_t number) const {
  Security other = *this;
  other.user = number;
  other.principal = users->name(number);
  return other;
}

std::string Security::realm() const {
  const size_t at = principal.rfind('@');
  return at == std::string::npos ? "" : principal.substr(at + 1);
}

bool wants_kerberos(const wire::Url& url) {
  const std::string* sec = url.option("sec");
  return sec && sec->starts_with("krb5");
}

std::optional<Security> security_of(const wire::Url& url, bool impersonate, const std::vector<std::string>& principals) {
  auto refuse = [&](const std::string& why) { throw std::runtime_error("bad URL '" + url.text + "': " + why); };
  const std::string* sec = url.option("sec");
  const std::string *keytab = url.option("keytab"), *principal = url.option("principal");
  if (!sec || *sec == "sys") {
    for (const char* name : {"keytab", "principal"})
      if (url.option(name)) refuse(std::string(name) + "=: belongs to sec=krb5, sec=krb5i or sec=krb5p");
    return {};
  }
  Security security;
  if (*sec == "krb5i")
    security.service = Service::integrity;
  else if (*sec == "krb5p")
    security.service = Service::privacy;
  else if (*sec != "krb5")
    refuse("sec=" + *sec + ": expected sys, krb5, krb5i or krb5p");
  if (!kerberos_built_in())
    refuse("sec=" + *sec + ": this build has no Kerberos; build it with libkrb5-dev (Fedora: krb5-devel)");
  if (impersonate && principals.empty())
    refuse(
        "sec=" + *sec +
        ": the user of each request is that of a ticket; give --uid map=FILE with lines 'uid principal', leave --uid out, or use "
        "sec=sys");
  for (const char* name : {"uid", "gid"})
    if (url.option(name)) refuse(std::string(name) + "=: with sec=" + *sec + ", the user is that of the ticket; give principal=");
  if (!principals.empty()) security.users = std::make_shared<Principals>(principals);
  security.host = url.host;
  if (principal) security.principal = *principal;
  if (keytab) {
    security.keytab = *keytab;
    if (access(keytab->c_str(), R_OK) < 0) refuse("keytab=" + *keytab + ": " + strerror(errno));
  }
  return security;
}

}  // namespace fsr::rpc
