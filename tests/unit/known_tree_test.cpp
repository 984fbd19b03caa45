// SPDX-License-Identifier: Apache-2.0
#include "targets/known_tree.hpp"

#include <string>

#include "catch.hpp"

namespace fsr::known_tree_test {

namespace {

struct File : KnownObject {
  bool is_dir() const { return false; }
};

struct OpenedFile {
  ObjectId object = kNoObject;
};

class Tree final : public KnownTree<File, OpenedFile> {
 public:
  Tree() : KnownTree(".hidden") {}
  using KnownTree::add_name;
};

}  // namespace

TEST_CASE("a rename of one link of a file to another leaves both names") {
  constexpr ObjectId kDirectory = 1, kFile = 7;
  Tree tree;
  tree.add_name(kFile, kDirectory, "first");
  tree.add_name(kFile, kDirectory, "second");
  const Op rename{.kind = OpKind::rename,
                  .object = kFile,
                  .parent = kDirectory,
                  .parent2 = kDirectory,
                  .object2 = kFile,
                  .name = "first",
                  .name2 = "second"};
  tree.begin_rename(rename);
  tree.end_rename(rename, true);
  tree.unlinked(kFile, kDirectory, "second");
  REQUIRE(tree.object(kFile));
  REQUIRE(tree.object(kFile)->names.size() == 1);
  CHECK(tree.object(kFile)->names[0].name == "first");
}

TEST_CASE("a rename concerns operations on what it moves, and on what lies below") {
  constexpr ObjectId kTop = 1, kDirectory = 2, kOther = 3, kFile = 4, kMail = 5;
  Tree tree;
  tree.add_name(kDirectory, kTop, "d");
  tree.add_name(kOther, kTop, "o");
  tree.add_name(kFile, kDirectory, "f");
  tree.add_name(kMail, kOther, "new");
  const Op missing{.kind = OpKind::lookup, .parent = kOther, .name = "absent"};
  const Op below{.kind = OpKind::getattr, .object = kFile};
  const Op mail{.kind = OpKind::rename, .object = kMail, .parent = kOther, .parent2 = kOther, .name = "new", .name2 = "cur"};
  const Op moves{.kind = OpKind::rename, .object = kDirectory, .parent = kTop, .parent2 = kOther, .name = "d", .name2 = "d"};

  const uint64_t before = tree.moves();
  tree.begin_rename(mail);
  CHECK_FALSE(tree.moved_since(before, missing));
  CHECK_FALSE(tree.moved_since(before, mail));  // itself
  CHECK(tree.moved_since(before, {.kind = OpKind::unlink, .object = kMail, .parent = kOther, .name = "new"}));
  tree.end_rename(mail, true);
  CHECK_FALSE(tree.moved_since(before, missing));
  CHECK(tree.moved_since(before, {.kind = OpKind::getattr, .object = kMail}));
  CHECK_FALSE(tree.moved_since(tree.moves(), {.kind = OpKind::getattr, .object = kMail}));

  tree.begin_rename(moves);
  CHECK(tree.moved_since(tree.moves(), below));
  CHECK_FALSE(tree.moved_since(tree.moves(), missing));
  tree.end_rename(moves, false);
  CHECK_FALSE(tree.moved_since(before, below));  // it failed
  tree.begin_rename(moves);
  tree.end_rename(moves, true);
  CHECK(tree.moved_since(before, below));

  // Moves that are too old to be remembered may have concerned any directory.
  for (int i = 0; i < 300; ++i) {
    tree.begin_rename(mail);
    tree.end_rename(mail, true);
  }
  CHECK(tree.moved_since(before, missing));
}

}  // namespace fsr::known_tree_test
