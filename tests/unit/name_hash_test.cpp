// SPDX-License-Identifier: Apache-2.0
// Tests that names in different directories, and ranges in different files, have different keys although object numbers are
// consecutive.
#include "util/name_hash.hpp"

#include <string>
#include <unordered_set>

#include "catch.hpp"
#include "plan/accesses.hpp"

namespace fsr::name_hash_test {

TEST_CASE("short names in neighbouring directories have hashes of their own") {
  std::unordered_set<uint64_t> hashes;
  size_t count = 0;
  for (const std::string name : {"", "f", "file", "x.txt"})
    for (uint64_t directory = 1; directory <= 200; ++directory)
      for (int i = 0; i < 150; ++i, ++count) hashes.insert(name_hash(directory, name + std::to_string(i)));
  CHECK(hashes.size() == count);
}

TEST_CASE("locked ranges of neighbouring files have keys of their own") {
  std::unordered_set<uint64_t> keys;
  size_t count = 0;
  for (ObjectId object = 1; object <= 200; ++object)
    for (uint64_t start = 0; start < 20; ++start)
      for (uint64_t length = 1; length <= 20; ++length, ++count)
        keys.insert(LockAccess{.object = object, .start = start, .end = length == 20 ? UINT64_MAX : start + length - 1}.key());
  CHECK(keys.size() == count);
}

}  // namespace fsr::name_hash_test
