// SPDX-License-Identifier: Apache-2.0
#include "op.hpp"

#include "catch.hpp"
#include "op_source.hpp"

namespace fsr::op_test {

TEST_CASE("the name of each kind leads back to the kind") {
  for (unsigned i = 0; i < kOpKinds; ++i) {
    OpKind kind;
    REQUIRE(op_from_name(op_name(OpKind(i)), &kind));
    CHECK(kind == OpKind(i));
  }
  OpKind kind;
  CHECK_FALSE(op_from_name("frobnicate", &kind));
}

TEST_CASE("component names that could leave a directory are refused") {
  CHECK(valid_component("a"));
  CHECK(valid_component("\xff\n"));
  CHECK(valid_component("..."));
  CHECK(valid_component(std::string(255, 'x')));
  for (std::string_view bad : {std::string_view(""), std::string_view("."), std::string_view(".."), std::string_view("a/b"),
                               std::string_view("a\0b", 3)})
    CHECK_FALSE(valid_component(bad));
  CHECK_FALSE(valid_component(std::string(256, 'x')));
}

TEST_CASE("a copied operation owns everything it points to") {
  Arena arena;
  Op copy;
  {
    std::string name = "name", entry = "entry", command = "cc1";
    Attr attr{.valid = kAttrSize, .size = 42};
    DirEntry e{.name = entry, .ino = 7};
    ThreadInfo who{.tid = 5, .command = command};
    Op op{.kind = OpKind::readdir, .name = name, .entries = {&e, 1}, .attr = &attr, .who = &who};
    copy = copy_op(op, arena);
    name = entry = command = "overwritten";
    attr.size = e.ino = 0;
  }
  CHECK(copy.name == "name");
  CHECK(copy.attr->size == 42);
  CHECK(copy.entries[0].name == "entry");
  CHECK(copy.entries[0].ino == 7);
  CHECK(copy.who->command == "cc1");
}

}  // namespace fsr::op_test
