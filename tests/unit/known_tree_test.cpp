// SPDX-License-Identifier: Apache-2.0
#include "targets/known_tree.hpp"

#include <string>

#include "catch.hpp"

using namespace fsr;

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
  tree.begin_rename();
  tree.end_rename(rename, true);
  tree.unlinked(kFile, kDirectory, "second");
  REQUIRE(tree.object(kFile));
  REQUIRE(tree.object(kFile)->names.size() == 1);
  CHECK(tree.object(kFile)->names[0].name == "first");
}
