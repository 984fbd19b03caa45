// SPDX-License-Identifier: Apache-2.0
#include "util/directory_identity.hpp"

#include <filesystem>

#include "catch.hpp"
#include "trace/header_text.hpp"

namespace fsr::directory_identity_test {

TEST_CASE("a directory is recognized by what it is, not by its name") {
  std::string top = "/tmp/identity-XXXXXX";
  REQUIRE(mkdtemp(top.data()));
  std::filesystem::create_directories(top + "/a/b/c");
  std::filesystem::create_directories(top + "/a/x");
  std::filesystem::create_symlink(top + "/a/b", top + "/alias");
  auto relation = [&](const std::string& other) {
    bool missing = false, ignored = false;
    const DirectoryRelation found =
        directory_relation(directory_identity(top + other, missing), directory_identity(top + "/a/b", ignored));
    CHECK(missing == (other.find("none") != other.npos));
    return found;
  };
  CHECK(relation("/a/b") == DirectoryRelation::same);
  CHECK(relation("/alias") == DirectoryRelation::same);
  CHECK(relation("/alias/c") == DirectoryRelation::inside);
  CHECK(relation("/a/b/none/none") == DirectoryRelation::same);  // of the nearest directory that exists
  CHECK(relation("/a/b/c/none") == DirectoryRelation::inside);
  CHECK(relation("/a") == DirectoryRelation::contains);
  CHECK(relation("/a/x") == DirectoryRelation::apart);
  CHECK(relation("/a/x/none") == DirectoryRelation::apart);

  bool missing = false;
  TraceHeader header, read;
  header.identity = directory_identity(top + "/a/b", missing);
  REQUIRE(decode_header(encode_header(header), &read));
  CHECK(directory_relation(read.identity, header.identity) == DirectoryRelation::same);
  CHECK(read.identity.path == header.identity.path);
  CHECK(read.identity.above == header.identity.above);
  read.identity.machine = "another";
  CHECK(directory_relation(read.identity, header.identity) == DirectoryRelation::apart);
  std::filesystem::remove_all(top);
}

TEST_CASE("an inode that is used again is another directory") {
  const DirectoryIdentity old{.machine = "m", .self = {1, 2, 300}, .path = "", .above = {}};
  DirectoryIdentity now = old;
  CHECK(directory_relation(now, old) == DirectoryRelation::same);
  now.self.born = 400;
  CHECK(directory_relation(now, old) == DirectoryRelation::apart);
}

}  // namespace fsr::directory_identity_test
