// SPDX-License-Identifier: Apache-2.0
#include "anonymize/pseudonyms.hpp"

#include <set>

#include "catch.hpp"

using namespace fsr;

namespace {
const std::string kKey(32, 'k');
}

TEST_CASE("names of every kind have a way back, and equal ones one pseudonym") {
  Pseudonyms to(kKey, false), back(kKey, true);
  std::set<std::string> seen;
  for (const std::string& name : std::vector<std::string>{"a",
                                                          "b",
                                                          "ab",
                                                          "1f",
                                                          "src",
                                                          "README",
                                                          "Makefile",
                                                          "main.c",
                                                          "x.tar.gz",
                                                          ".git",
                                                          ".c",
                                                          "a.c",
                                                          "deadbeefdeadbeef",
                                                          "with space",
                                                          "na\xffme",
                                                          "\xe6\x97\xa5\xe6\x9c\xac",
                                                          "tab\there",
                                                          "...",
                                                          "-",
                                                          "~",
                                                          "h",
                                                          "K12345",
                                                          "secret.projectx",
                                                          std::string(100, 'q'),
                                                          std::string(190, '\xe9'),
                                                          std::string(254, 'A')}) {
    INFO(name);
    const std::string other = to.name(name);
    CHECK(other != name);
    CHECK(other == to.name(name));
    CHECK(other.size() <= 255);
    CHECK(other.find('/') == std::string::npos);
    CHECK(seen.insert(other).second);
    CHECK(back.name(other) == name);
  }
  CHECK(to.hashed() == 0);
}

TEST_CASE("lengths and common extensions stay, unknown ones do not") {
  Pseudonyms to(kKey, false);
  for (size_t n = 6; n <= 253; ++n) CHECK(to.name(std::string(n, 'n')).size() == n + 1);
  for (const char* name : {"a", "abcde"}) CHECK(to.name(name).size() == 7);
  CHECK(to.name("holiday.jpg").substr(8) == ".jpg");
  CHECK(to.name("plan.projectx").find('.') == std::string::npos);
  CHECK(to.name(".") == ".");
  CHECK(to.path("../a//b/.") == "../" + to.name("a") + "//" + to.name("b") + "/.");
}

TEST_CASE("what is too long to be written is hashed, as long as it was") {
  Pseudonyms to(kKey, false);
  const std::string longest(255, 'x'), other(254, 'x'), bytes(255, '\xe9');
  CHECK(to.name(longest).size() == 255);
  CHECK(to.name(bytes).size() == 255);
  CHECK(to.name(longest) != to.name(bytes));
  CHECK(to.hashed() == 2);
  CHECK(to.name(std::string(300, 'x')).size() == 301);  // too long for a file system, as before
}

TEST_CASE("another key gives other names and no way back") {
  Pseudonyms one(kKey, false), two(std::string(32, 'j'), false), back(std::string(32, 'j'), true);
  CHECK(one.name("document") != two.name("document"));
  CHECK(back.name(one.name("document")) != "document");
  CHECK(one.key_mark() != two.key_mark());
}

TEST_CASE("attributes keep their length, values too") {
  Pseudonyms to(kKey, false), back(kKey, true);
  for (const char* name :
       {"user.comment", "user.mime_type", "trusted.overlay.opaque", "user.a", "user.with space", "noname", "user..x1"}) {
    INFO(name);
    const std::string other = to.xattr(name);
    CHECK(other != name);
    CHECK(back.xattr(other) == name);
  }
  CHECK(to.xattr("user.comment").size() == 12);
  CHECK(to.xattr("user.comment").substr(0, 5) == "user.");
  CHECK(to.xattr("system.posix_acl_access") == "system.posix_acl_access");
  for (const std::string& value : {std::string(), std::string("x"), std::string("some value"), std::string(5000, '\0')}) {
    CHECK(to.value(value).size() == value.size());
    CHECK(back.value(to.value(value)) == value);
  }
  CHECK(to.value("some value") != "some value");
}

TEST_CASE("users, processes and prints are mapped one to one, what is special stays") {
  Pseudonyms to(kKey, false), back(kKey, true);
  std::set<uint64_t> users, processes, prints;
  for (uint32_t id = 1; id < 3000; ++id) {
    users.insert(to.user(id));
    CHECK(back.user(to.user(id)) == id);
    processes.insert(uint64_t(to.process(int32_t(id))));
    CHECK(back.process(to.process(int32_t(id))) == int32_t(id));
    prints.insert(to.print(id));
  }
  CHECK(users.size() == 2999);
  CHECK(processes.size() == 2999);
  CHECK(prints.size() == 2999);
  for (uint32_t id : {0u, 65534u, UINT32_MAX}) CHECK(to.user(id) == id);
  CHECK(back.user(to.user(100'000)) == 100'000);
  CHECK(back.process(to.process(5'000'000)) == 5'000'000);
  CHECK(to.process(0) == 0);
  CHECK(to.print(0) == 0);
  CHECK(back.print(to.print(0x0123456789abcdef)) == 0x0123456789abcdef);
}
