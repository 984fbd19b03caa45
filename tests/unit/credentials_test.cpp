// SPDX-License-Identifier: Apache-2.0
#include "plan/credentials.hpp"

#include "catch.hpp"

using namespace fsr;

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

TEST_CASE("a message on a bad line of a user map has the number of the line") {
  for (const char* bad : {"1000", "1000 no-such-user", "1000:no-such-group 5", "1000: 5", "-1 5", "1 2 3", "99999999999 1"})
    CHECK_THROWS_WITH(CredentialMap::parse(std::string("1 2\n") + bad, "users"),
                      "users:2: expected 'uid[:gid] newuid[:newgid]', by number or name");
  CHECK_THROWS_WITH(CredentialMap::from_file("/no/such"), "/no/such: can't be read");
}
