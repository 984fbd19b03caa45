// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/kerberos_problem.hpp"

#include <errno.h>
#include <krb5.h>

#include "catch.hpp"

namespace fsr::kerberos_problem_test {

using namespace fsr::rpc;

TEST_CASE("problems of Kerberos are told in one line, with a remedy") {
  const Security cache{.host = "server"}, keytab{.host = "server", .keytab = "/k", .principal = "user"};
  auto line = [](int64_t code, const Security& security) {
    return std::string(kerberos_problem(int32_t(code), "library's words", security).what());
  };
  CHECK(line(KRB5KRB_AP_ERR_SKEW, cache) ==
        "Kerberos: the clocks of this host, the KDC and the server differ too much (library's words); set them by NTP");
  CHECK(line(KRB5_KDCREP_SKEW, keytab) == line(KRB5KRB_AP_ERR_SKEW, cache));
  CHECK(line(KRB5_FCC_NOFILE, cache).find("no ticket (library's words); run kinit") != std::string::npos);
  CHECK(line(KRB5_FCC_NOFILE, keytab).find("keytab=/k has no usable key") != std::string::npos);
  CHECK(line(KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, cache).find("nfs/server") != std::string::npos);
  CHECK(std::string(kerberos_problem(int32_t(KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN), "krbtgt/B@A not found", cache).what())
            .find("no tickets for the realm of server") != std::string::npos);
  CHECK(line(KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, keytab).find("does not know the user user") != std::string::npos);
  CHECK(line(12345, cache).find("no security context for nfs/server") != std::string::npos);
  CHECK(kerberos_problem(int32_t(KRB5KRB_AP_ERR_TKT_EXPIRED), "", cache).error == EKEYEXPIRED);
  CHECK(kerberos_problem(int32_t(KRB5KRB_AP_ERR_SKEW), "", cache).error == EKEYREJECTED);
  CHECK(kerberos_problem(int32_t(KRB5_KDC_UNREACH), "", cache).kdc_is_silent);
  CHECK(kerberos_problem(int32_t(KRB5KDC_ERR_SVC_UNAVAILABLE), "", cache).kdc_is_silent);  // a KDC that starts
  CHECK_FALSE(kerberos_problem(int32_t(KRB5KRB_AP_ERR_SKEW), "", cache).kdc_is_silent);
}

TEST_CASE("flavors have the names of sec=") {
  CHECK(flavor_name(1) == "sys");
  CHECK(flavor_name(pseudo_flavor(Service::none)) == "krb5");
  CHECK(flavor_name(390004) == "krb5i");
  CHECK(flavor_name(390005) == "krb5p");
  CHECK(flavor_name(6) == "6");
}

TEST_CASE("a flavor that a server refuses is told with those that it takes") {
  CHECK(wrong_flavor(1, {390005}) == "the export does not allow sec=sys, but sec=krb5p; give sec=krb5p in the URL");
  CHECK(wrong_flavor(390004, {0, 390005, 1}) ==
        "the export does not allow sec=krb5i, but sec=none, krb5p, sys; give sec=krb5p in the URL");
  CHECK(wrong_flavor(1, {6}) == "the export does not allow sec=sys, but sec=6; none of these is supported");
}

}  // namespace fsr::kerberos_problem_test
