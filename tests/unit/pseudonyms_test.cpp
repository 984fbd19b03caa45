// SPDX-License-Identifier: Apache-2.0
#include "anonymize/anonymizer.hpp"

#include <set>

#include "catch.hpp"
#include "trace/header_text.hpp"

namespace fsr::pseudonyms_test {

namespace {
const std::string kKey(32, 'k');
}

TEST_CASE("each name can be restored from its pseudonym, and equal names have equal pseudonyms") {
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

TEST_CASE("a pseudonym keeps length and common extension, but no unknown extension") {
  Pseudonyms to(kKey, false);
  for (size_t n = 6; n <= 253; ++n) CHECK(to.name(std::string(n, 'n')).size() == n + 1);
  for (const char* name : {"a", "abcde"}) CHECK(to.name(name).size() == 7);
  CHECK(to.name("holiday.jpg").substr(8) == ".jpg");
  CHECK(to.name("plan.projectx").find('.') == std::string::npos);
  CHECK(to.name(".") == ".");
  CHECK(to.path("../a//b/.") == "../" + to.name("a") + "//" + to.name("b") + "/.");
}

TEST_CASE("a name that is too long for a reversible pseudonym becomes a hash") {
  Pseudonyms to(kKey, false);
  const std::string longest(255, 'x'), other(254, 'x'), bytes(255, '\xe9');
  CHECK(to.name(longest).size() == 255);
  CHECK(to.name(bytes).size() == 255);
  CHECK(to.name(longest) != to.name(bytes));
  CHECK(to.hashed() == 2);
  CHECK(to.name(std::string(300, 'x')).size() == 301);  // too long for a file system, as the original
}

TEST_CASE("another key gives other pseudonyms, and can't restore names") {
  Pseudonyms one(kKey, false), two(std::string(32, 'j'), false), back(std::string(32, 'j'), true);
  CHECK(one.name("document") != two.name("document"));
  CHECK(back.name(one.name("document")) != "document");
  CHECK(one.key_mark() != two.key_mark());
}

TEST_CASE("names and values of extended attributes keep their lengths") {
  Pseudonyms to(kKey, false), back(kKey, true);
  for (const char* name : {"user.comment", "user.mime_type", "trusted.overlay.opaque", "user.a", "user.with space", "noname",
                           "user..x1", "com.example.token", "users.x", "system.posix_acl_other"}) {
    INFO(name);
    const std::string other = to.xattr(name);
    CHECK(other != name);
    CHECK(back.xattr(other) == name);
  }
  CHECK(to.xattr("user.comment").size() == 12);
  CHECK(to.xattr("user.comment").substr(0, 5) == "user.");
  CHECK(to.xattr("system.posix_acl_access") == "system.posix_acl_access");
  CHECK(to.xattr("com.example.token").find_first_of(".") == std::string::npos);  // in no namespace, as the original
  for (const std::string& value : {std::string(), std::string("x"), std::string("some value"), std::string(5000, '\0')}) {
    CHECK(to.value(value).size() == value.size());
    CHECK(back.value(to.value(value)) == value);
  }
  CHECK(to.value("some value") != "some value");
}

TEST_CASE("users, processes and fingerprints are mapped one to one, and special values stay") {
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

TEST_CASE("an anonymized header has the mount options, but neither source nor user") {
  TraceHeader h;
  h.host = "filer7";
  h.directory = "/home/alice/share";
  h.mount_source = "nas.example.org:/export/alice";
  h.mount_type = "nfs4";
  h.mount_options = "rw,relatime,vers=4.2,rsize=1048576,username=alice,addr=10.1.2.3,odd";
  h.command = "make -C alice";
  h.content = "full";
  h.not_seen = {"12 alice-daemon"};
  h.mounts_below = {"alice: vfat"};
  h.edits = {"filter --path alice"};
  h.nfs.mountstats = "device nas.example.org:/export/alice";
  Anonymizer to(kKey, false), back(kKey, true);
  const TraceHeader public_one = to.map(h);
  std::string all = public_one.nfs.mountstats + public_one.content;
  for (const std::string* s :
       {&public_one.host, &public_one.directory, &public_one.mount_source, &public_one.mount_options, &public_one.command})
    all += *s + "\n";
  for (const std::string& s : public_one.edits) all += s;
  for (const char* secret : {"filer7", "alice", "nas", "example", "export", "10.1.2.3", "make", "odd", "share", "full"})
    CHECK(all.find(secret) == std::string::npos);
  CHECK(public_one.mount_options.rfind("rw,relatime,vers=4.2,rsize=1048576,", 0) == 0);
  CHECK(public_one.mount_type == "nfs4");
  CHECK(public_one.not_seen.empty());
  CHECK(public_one.mounts_below.empty());
  const TraceHeader again = back.map(public_one);
  CHECK(again.host == h.host);
  CHECK(again.directory == h.directory);
  CHECK(again.mount_source == h.mount_source);
  CHECK(again.mount_options == h.mount_options);
  CHECK(again.command == h.command);
}

TEST_CASE("an access control list stays one, with other users") {
  Arena arena;
  Anonymizer to(kKey, false);
  std::string acl("\2\0\0\0", 4);
  acl += std::string("\1\0\7\0\xff\xff\xff\xff", 8) + std::string("\2\0\4\0\x67\x12\0\0", 8);
  Op op{.kind = OpKind::setxattr, .object = 2};
  op.name = "system.posix_acl_access";
  op.data = acl;
  const Op other = to.map(op, arena);
  CHECK(other.name == op.name);
  REQUIRE(other.data.size() == acl.size());
  CHECK(other.data.substr(0, 16) == std::string_view(acl).substr(0, 16));
  CHECK(other.data.substr(16, 4) != std::string_view(acl).substr(16, 4));
}

namespace {
constexpr std::string_view kMarker = "Marker7391";

// Returns every text of an operation, one after another.
std::string texts_of(const Op& op) {
  std::string all;
  for (std::string_view text : {op.name, op.name2, op.data, op.who ? op.who->command : std::string_view()})
    all += std::string(text) + "\n";
  for (const DirEntry& e : op.entries) all += std::string(e.name) + "\n";
  return all;
}
}  // namespace

TEST_CASE("an anonymized trace contains none of its original strings") {
  const std::string marker(kMarker);
  Anonymizer to(kKey, false), back(kKey, true);
  Arena arena;
  ThreadInfo who{.id = 1, .command = kMarker};
  const std::string names[] = {marker,
                               marker + "." + marker,
                               marker + " x.txt",
                               marker + ".token",
                               "user." + marker,
                               "security." + marker,
                               "system." + marker,
                               "system.posix_acl_" + marker,
                               "system.posix_acl_access"};
  const std::string contents[] = {marker, "/" + marker + "/" + marker + ".c", std::string("\2\0\0\0", 4) + marker + "234567",
                                  "user." + marker + std::string(1, '\0') + marker + std::string(1, '\0')};
  for (unsigned kind = 0; kind < kOpKinds; ++kind)
    for (const std::string& name : names)
      for (const std::string& content : contents) {
        const DirEntry entry{.name = name};
        Op op{.kind = OpKind(kind), .op_flags = kOpData, .result = content.size(), .name = name, .name2 = name, .data = content};
        op.entries = {&entry, 1};
        op.who = &who;
        INFO(op_name(op.kind) << " " << name << " " << content);
        REQUIRE(texts_of(op).find(marker) != std::string::npos);
        const Op other = to.map(op, arena);
        REQUIRE(texts_of(other).find(marker) == std::string::npos);
        if (content.find('\0') == std::string::npos) REQUIRE(back.map(other, arena).name == name);
      }

  TraceHeader h;
  for (std::string* text :
       {&h.host, &h.directory, &h.mount_source, &h.command, &h.content, &h.filter, &h.mount_type, &h.nfs.mountstats, &h.nfs.rpc})
    *text = marker;
  h.kernel = "6.1.0-" + marker;
  h.mounts_below = h.not_seen = h.edits = {marker};
  h.mount_options = "rw," + marker + "," + marker + "=1,version=" + marker + ",size=64k,sec=krb5p,cache=" + marker;
  const TraceHeader other = to.map(h);
  CHECK(encode_header(other).find(marker) == std::string::npos);
  CHECK(other.kernel.substr(0, 5) == "6.1.0");
  CHECK(other.mount_options.find(",size=64k,sec=krb5p,") != std::string::npos);
  const TraceHeader again = back.map(other);
  CHECK(again.kernel == h.kernel);
  CHECK(again.mount_type == h.mount_type);
  CHECK(again.mount_options == h.mount_options);
  h.mount_type = "fuse." + marker;
  CHECK(to.map(h).mount_type.substr(0, 5) == "fuse.");
  CHECK(to.map(h).mount_type.find(marker) == std::string::npos);
  CHECK(back.map(to.map(h)).mount_type == h.mount_type);

  who.pid = 4711;
  Op locks{.kind = OpKind::setlk, .mode = 1, .object = 2, .owner = 4711};
  locks.who = &who;
  const Op renamed = to.map(locks, arena);
  CHECK(renamed.owner != 4711);
  CHECK(renamed.owner == uint64_t(renamed.who->pid));
  CHECK(back.map(renamed, arena).owner == 4711);

  LiveState state;
  const Attr link{.valid = kAttrMode, .mode = 0120777};
  Op op{.kind = OpKind::symlink, .object = 2, .parent = kRootObject, .name = kMarker, .data = contents[1]};
  op.attr = &link;
  state.apply(op);
  REQUIRE(state.serialize().find(marker) != std::string::npos);
  CHECK(to.map(state).serialize().find(marker) == std::string::npos);
  state.apply(locks);
  to.map(state).each_lock([&](const LiveLock& l) { CHECK(l.owner == renamed.owner); });
}

}  // namespace fsr::pseudonyms_test
