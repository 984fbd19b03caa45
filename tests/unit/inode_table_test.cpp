// SPDX-License-Identifier: Apache-2.0
#include "inode_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace fsr;

namespace {

// A table over some directory: none of its files is looked at here.
struct Table {
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  InodeTable inodes{root, -1, 16};
  ~Table() { close(root); }
  Inode* add(uint64_t ino, int64_t btime = 1) { return inodes.add({99, ino, btime}, S_IFREG, inodes.root(), "name", -1); }
};

}  // namespace

TEST_CASE("inode table: numbers lead to their inodes, are not addresses, and never come back") {
  Table t;
  CHECK(t.inodes.by_node(1) == t.inodes.root());
  std::set<uint64_t> seen{0, 1};
  for (int round = 0; round < 3; ++round) {
    std::vector<Inode*> inodes;
    for (uint64_t i = 0; i < 5000; ++i) {
      inodes.push_back(t.add(i));
      REQUIRE(seen.insert(inodes.back()->node).second);
      REQUIRE(uint32_t(inodes.back()->node) < 5010);
    }
    for (Inode* inode : inodes) REQUIRE(t.inodes.by_node(inode->node) == inode);
    for (Inode* inode : inodes) t.inodes.forget(inode, 1);
  }
}

TEST_CASE("inode table: a number that nobody has stands for a file that is not to be had") {
  Table t;
  Inode* inode = t.add(7);
  const uint64_t node = inode->node;
  t.inodes.forget(inode, 1);
  for (uint64_t unknown : {node, uint64_t(0), uint64_t(2), uint64_t(5000), ~uint64_t(0), node + (uint64_t(1) << 32)}) {
    Inode* gone = t.inodes.by_node(unknown);
    REQUIRE(gone);
    CHECK(gone->id == kNoObject);
    CHECK(t.inodes.acquire(gone) == -ESTALE);
    struct statx s;
    CHECK(t.inodes.stat(gone, &s) == -ESTALE);
    t.inodes.forget(gone, 1);
  }
}

TEST_CASE("inode table: numbers are found while others come and go", "[threads]") {
  Table t;
  Inode* kept = t.add(1);
  const uint64_t node = kept->node;
  std::thread busy([&] {
    for (uint64_t i = 0; i < 20'000; ++i) t.inodes.forget(t.add(2 + i % 3000 * 7), i % 2);
  });
  bool found = true;
  for (int i = 0; i < 20'000; ++i) found = found && t.inodes.by_node(node) == kept;
  busy.join();
  CHECK(found);
}
