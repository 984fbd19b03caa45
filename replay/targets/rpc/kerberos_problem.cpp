// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/kerberos_problem.hpp"

#include <errno.h>
#include <krb5.h>

namespace fsr::rpc {

GssError kerberos_problem(int32_t code, const std::string& text, const Security& security) {
  const bool cache = security.keytab.empty();
  const std::string service = "nfs/" + security.host;
  const std::string keytab = "keytab=" + security.keytab;
  const std::string map = security.user ? "the map of users" : "principal=";
  auto line = [&](const std::string& what, const std::string& remedy, int error = EKEYREJECTED) {
    return GssError("Kerberos: " + what + (text.empty() ? "" : " (" + text + ")") + "; " + remedy, error);
  };
  switch (code) {
    case int32_t(KRB5KRB_AP_ERR_TKT_EXPIRED):
    case int32_t(KRB5KDC_ERR_NAME_EXP):
      return line("the ticket has expired", "run kinit again, or give keytab=, by which tickets are renewed", EKEYEXPIRED);
    case int32_t(KRB5_FCC_NOFILE):
    case int32_t(KRB5_CC_NOTFOUND):
    case int32_t(KRB5_CC_END):
    case ENOENT:
      if (cache && security.user)
        return line("no ticket",
                    "give keytab= with this user's key, or a collection of caches (KRB5CCNAME=DIR:, KCM:) that has it",
                    EKEYEXPIRED);
      if (cache) return line("no ticket", "run kinit, set KRB5CCNAME, or give keytab= and principal=", EKEYEXPIRED);
      [[fallthrough]];
    case int32_t(KRB5_KT_NOTFOUND):
    case int32_t(KRB5_KT_IOERR):
    case EACCES:
      return line(cache ? "the ticket can't be read" : keytab + " has no usable key",
                  cache ? "check KRB5CCNAME and the permissions of its file"
                        : "check the path, its permissions, and " + map + " against klist -k");
    case int32_t(KRB5KRB_AP_ERR_SKEW):
    case int32_t(KRB5_KDCREP_SKEW):
    case int32_t(KRB5KRB_AP_ERR_TKT_NYV):
      return line("the clocks of this host, the KDC and the server differ too much", "set them by NTP");
    case int32_t(KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN):
      if (text.find("krbtgt/") != std::string::npos)  // the ticket of another realm
        return line("the KDC gives no tickets for the realm of " + security.host,
                    "check the realm of the ticket (klist), [domain_realm] in krb5.conf, and the trust between the realms");
      return line("the KDC does not know the service " + service,
                  "give the server's full name in the URL, or add that principal to the KDC and to the server's keytab");
    case int32_t(KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN):
      return line("the KDC does not know the user" + (security.principal.empty() ? "" : " " + security.principal),
                  "check " + map + " and its realm");
    case int32_t(KRB5KDC_ERR_PREAUTH_FAILED):
    case int32_t(KRB5KRB_AP_ERR_BAD_INTEGRITY):
      return line("the KDC refuses the key" + (cache ? "" : " of " + keytab), "export the keytab anew (ktadd)");
    case int32_t(KRB5_REALM_UNKNOWN):  // also if DNS does not reply
    case int32_t(KRB5_REALM_CANT_RESOLVE):
    case int32_t(KRB5_ERR_HOST_REALM_UNKNOWN):
    case int32_t(KRB5_CONFIG_NODEFREALM):
    case int32_t(KRB5_KDC_UNREACH):
    case int32_t(KRB5KDC_ERR_SVC_UNAVAILABLE):
    case int32_t(KRB5KDC_ERR_WRONG_REALM):
    case int32_t(KRB5_KDCREP_MODIFIED): {
      GssError problem = line("no KDC of the realm replies",
                              "check [realms] and [domain_realm] in krb5.conf, and the realm of the ticket (klist)");
      problem.kdc_is_silent = code != int32_t(KRB5KDC_ERR_WRONG_REALM) && code != int32_t(KRB5_KDCREP_MODIFIED);
      return problem;
    }
    case int32_t(KRB5KDC_ERR_ETYPE_NOSUPP):
    case int32_t(KRB5_PROG_ETYPE_NOSUPP):
      return line("no common encryption type", "compare permitted_enctypes in krb5.conf with the keys of " + service);
    default:
      return line("no security context for " + service, "look at the ticket (klist) and at the server's log");
  }
}

}  // namespace fsr::rpc
