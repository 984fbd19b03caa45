// SPDX-License-Identifier: Apache-2.0
#include "inode_table.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace fsr::inode_table_test {

using namespace fsr::shim;

namespace {

// A table over a directory whose files the tests do not access.
struct Table {
  int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  InodeTable inodes{root, -1, 16};
  ~Table() { close(root); }
  Inode* add(uint64_t ino, int64_t btime = 1) { return inodes.add({99, ino, btime}, S_IFREG, inodes.root(), "name", -1); }
};

}  // namespace

TEST_CASE("the inode table gives numbers that are no addresses and are never reused") {
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

TEST_CASE("the inode table takes an unknown number for a file that can't be reached") {
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

TEST_CASE("the inode table finds numbers while other threads add and remove some", "[threads]") {
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

TEST_CASE("the inode table gives a forgotten file its old number again, but not a removed one") {
  Table t;
  std::vector<ObjectId> ids;
  for (uint64_t i = 0; i < 3000; ++i) {
    Inode* inode = t.add(i, int64_t(i % 7));
    ids.push_back(inode->id);
    t.inodes.forget(inode, 1);
  }
  CHECK(std::set<ObjectId>(ids.begin(), ids.end()).size() == ids.size());
  CHECK(ids.back() == ids.front() + 2999);
  for (uint64_t i = 0; i < 3000; i += 3) t.inodes.removed({99, i, int64_t(i % 7)});
  for (uint64_t i = 0; i < 3000; ++i) {
    Inode* inode = t.add(i, int64_t(i % 7));
    REQUIRE((inode->id == ids[i]) == (i % 3 != 0));
    t.inodes.forget(inode, 1);
  }
  CHECK(t.add(5, 99)->id > ids.back());
}

TEST_CASE("the inode table reaches files with few descriptors while they are renamed", "[threads]") {
  std::string path = std::filesystem::temp_directory_path() / "fsshim-test.XXXXXX";
  REQUIRE(mkdtemp(path.data()));
  const int root = open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), by_handle = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  {
    InodeTable inodes(root, by_handle, 4);
    std::vector<Inode*> files;
    auto add = [&](Inode* parent, int dir, const std::string& name) {
      struct statx s;
      REQUIRE(inodes.stat_at(dir, name.c_str(), &s) == 0);
      files.push_back(inodes.add(key_of(s), s.stx_mode, parent, name, -1));
      return files.back();
    };
    for (int i = 0; i < 4; ++i) {
      const std::string name = "d" + std::to_string(i);
      REQUIRE(mkdirat(root, name.c_str(), 0700) == 0);
      Inode* directory = add(inodes.root(), root, name);
      for (int k = 0; k < 4; ++k) {
        LowerFd dir(inodes, directory);
        close(openat(dir.value(), std::to_string(k).c_str(), O_CREAT | O_WRONLY, 0600));
        add(directory, dir.value(), std::to_string(k));
      }
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> users;
    for (unsigned t = 0; t < 3; ++t)
      users.emplace_back([&, t] {
        for (unsigned i = 0; i < 3000; ++i) {
          Inode* inode = files[(i * 7 + t * 5) % files.size()];
          LowerFd fd(inodes, inode);
          struct statx s;
          if (inodes.stat_at(fd.value(), "", &s) != 0 || !(key_of(s) == inode->key)) ++wrong;
          if (inodes.stat(files[i % files.size()], &s) != 0) ++wrong;
        }
      });
    // A file that loses its name stays. Its directory moves, so that only a descriptor, a handle or the new name leads to it.
    for (int i = 0; i < 500; ++i) {
      Inode* directory = files[0];
      const char* names[] = {"d0", "moved"};
      inodes.pin(directory->key, openat(root, names[i % 2], O_PATH | O_CLOEXEC), 0);
      if (renameat(root, names[i % 2], root, names[(i + 1) % 2]) != 0) ++wrong;
      inodes.moved(directory->key, inodes.root(), names[(i + 1) % 2]);
      inodes.unpin(directory->key);
    }
    for (std::thread& user : users) user.join();
    CHECK(wrong == 0);
  }
  close(by_handle);
  close(root);
  std::filesystem::remove_all(path);
}

TEST_CASE("the table of identities takes few bytes for a file, and none after its removal") {
  Identities ids;
  auto mark = [](uint64_t i) { return i * 0x9E3779B97F4A7C15u; };
  for (uint64_t i = 1; i <= 300'000; ++i) REQUIRE(ids.find_or_add(mark(i), i + (uint64_t(5) << 32)) == i + (uint64_t(5) << 32));
  CHECK(ids.size() == 300'000);
  CHECK(ids.memory() < 300'000 * 32);
  for (uint64_t i = 1; i <= 300'000; i += 2) ids.erase(mark(i));
  for (uint64_t i = 1; i <= 300'000; ++i) REQUIRE((ids.find_or_add(mark(i), 7) == 7) == (i % 2 == 1));
  for (uint64_t i = 1; i <= 300'000; ++i) ids.erase(mark(i));
  CHECK(ids.size() == 0);
}

TEST_CASE("the inode table keeps nothing of a file that never had a name") {
  Table t;
  const FileKey key{99, 7, 1};
  Inode* inode = t.inodes.add(key, S_IFREG, nullptr, "", -1);
  const ObjectId id = inode->id;
  t.inodes.forget(inode, 1);
  CHECK(t.inodes.id_of(key) != id);
  inode = t.inodes.add({99, 8, 1}, S_IFREG, nullptr, "", -1);
  const ObjectId named = inode->id;
  CHECK(t.inodes.find({99, 8, 1}, t.inodes.root(), "name") == inode);
  t.inodes.forget(inode, 2);
  CHECK(t.inodes.id_of({99, 8, 1}) == named);
}

}  // namespace fsr::inode_table_test
