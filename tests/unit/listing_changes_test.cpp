// SPDX-License-Identifier: Apache-2.0
#include "plan/listing_changes.hpp"

#include <cerrno>

#include "catch.hpp"

namespace fsr::listing_changes_test {

namespace {

constexpr ObjectId kDirectory = 5, kOther = 6;
constexpr HandleId kOpen = 3;

Op list(uint64_t offset, uint64_t result) {
  return {.kind = OpKind::readdir, .object = kDirectory, .handle = kOpen, .offset = offset, .result = result};
}
Op change(OpKind kind, ObjectId directory, int error = 0) {
  return {.kind = kind, .error = error, .object = 9, .parent = directory, .name = "a"};
}

}  // namespace

TEST_CASE("the changes in a directory between the start and the end of a listing are counted") {
  ListingChanges changes;
  CHECK(changes.note(change(OpKind::mkdir, kDirectory)) == 0);
  CHECK(changes.note(list(0, 2)) == 0);
  changes.note(change(OpKind::mkdir, kDirectory));
  changes.note(change(OpKind::mkdir, kDirectory, EEXIST));
  changes.note(change(OpKind::rmdir, kOther));
  CHECK(changes.note(list(2, 1)) == 0);
  changes.note({.kind = OpKind::rename, .object = 9, .parent = kDirectory, .parent2 = kDirectory, .name = "a", .name2 = "b"});
  CHECK(changes.note(list(3, 0)) == 3);
  CHECK(changes.note(list(3, 0)) == 0);
}

TEST_CASE("a listing that begins again or is closed has no changes of before") {
  ListingChanges changes;
  changes.note(list(0, 2));
  changes.note(change(OpKind::mkdir, kDirectory));
  changes.note(list(0, 3));
  CHECK(changes.note(list(3, 0)) == 0);
  changes.note(list(0, 2));
  changes.note(change(OpKind::mkdir, kDirectory));
  changes.note({.kind = OpKind::releasedir, .object = kDirectory, .handle = kOpen});
  CHECK(changes.note(list(2, 0)) == 0);
}

}  // namespace fsr::listing_changes_test
