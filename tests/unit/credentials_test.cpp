// SPDX-License-Identifier: Apache-2.0
#include "plan/credentials.hpp"

#include "catch.hpp"

namespace fsr::credentials_test {

TEST_CASE("the user map changes the users in the file, and keeps all others") {
  CredentialMap map = CredentialMap::parse("# who\n1000 2000\n1001:5 2001:6\n1001 7:8 # the rest\n\n", "users");
  CHECK(map.map(1000, 42).uid == 2000);
  CHECK(map.map(1000, 42).gid == 42);
  CHECK(map.map(1001, 5).uid == 2001);
  CHECK(map.map(1001, 5).gid == 6);
  CHECK(map.map(1001, 9).uid == 7);
  CHECK(map.map(1001, 9).gid == 8);
  CHECK(map.map(3, 4).uid == 3);
  CHECK(map.map(3, 4).gid == 4);
}

TEST_CASE("a user map takes names of this host") {
  const CredentialMap map = CredentialMap::parse("root:root 7\n8 root:daemon", "users");
  CHECK(map.map(0, 0).uid == 7);
  CHECK(map.map(8, 3).uid == 0);
  CHECK(map.map(8, 3).gid == 1);  // Debian's policy has given daemon this number for ever
}

TEST_CASE("a map of principals gives each user the number of a principal, and no number to all others") {
  const CredentialMap map =
      CredentialMap::parse("# who\n1000 alice@A # her\n1001 bob\n1002 alice@A\n1003:7 nfs/host@A\n1000 alice@A\n", "users",
                           CredentialMap::To::principals);
  CHECK(map.principals() == std::vector<std::string>{"alice@A", "bob", "nfs/host@A"});
  CHECK(map.map(1000, 42).principal == 1);
  CHECK(map.map(1001, 42).principal == 2);
  CHECK(map.map(1002, 42).principal == 1);
  CHECK(map.map(1003, 7).principal == 3);
  CHECK(map.map(1003, 8).principal == kNoPrincipal);
  CHECK(map.map(0, 0).principal == kNoPrincipal);
  CHECK(map.map(1000, 42).uid == 1000);
  CHECK(CredentialMap::parse("1 2", "users").map(1, 1).principal == 0);
  CHECK(CredentialMap().map(1, 1).principal == 0);
}

TEST_CASE("a message on a bad line of a map of principals has the number of the line") {
  for (const char* bad : {"1000", "1000 2000", "1000 a:b", "1000 @A", "1000 a@", "1000 a@b@c", "1000 a b", "no-such-user a"})
    CHECK_THROWS_WITH(
        CredentialMap::parse(std::string("1 a\n") + bad, "users", CredentialMap::To::principals),
        "users:2: expected 'uid[:gid] principal', such as '1000 alice@EXAMPLE.COM', because the target has Kerberos");
  CHECK_THROWS_WITH(CredentialMap::parse("1 a\n1 b", "users", CredentialMap::To::principals),
                    "users:2: '1' has the principal a already; expected one line for each user");
  CHECK_THROWS_WITH(
      CredentialMap::parse("1 a@B", "users"),
      "users:1: expected 'uid[:gid] newuid[:newgid]', by number or name; a principal needs sec=krb5, krb5i or krb5p in "
      "the target's URL");
}

TEST_CASE("a message on a bad line of a user map has the number of the line") {
  for (const char* bad : {"1000", "1000 no-such-user", "1000:no-such-group 5", "1000: 5", "-1 5", "1 2 3", "99999999999 1"})
    CHECK_THROWS_WITH(CredentialMap::parse(std::string("1 2\n") + bad, "users"),
                      "users:2: expected 'uid[:gid] newuid[:newgid]', by number or name");
  CHECK_THROWS_WITH(CredentialMap::from_file("/no/such"), "/no/such: can't be read");
}

}  // namespace fsr::credentials_test
