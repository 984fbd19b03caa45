// SPDX-License-Identifier: Apache-2.0
// One file of the memory target. Guarded by the tree's mutex.
#pragma once

#include <sys/stat.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "tree.hpp"

namespace fsr {

struct MemoryTree::Node {
  struct Entry {
    NodePtr node;
    uint64_t cookie = 0;
  };

  uint64_t ino = 0;
  Attr attr;                  // mode, owner, links and times; the size of a regular file is data's
  std::vector<ObjectId> ids;  // under which the operations know it
  unsigned opens = 0;
  bool unnamed = false;  // made without a name, so that it may get one
  FileData data;
  std::string target;  // symlink
  std::map<std::string, std::string, std::less<>> xattrs;
  LockTable locks;
  // Directories. Entries keep their cookie for life, so a readdir goes on rightly whatever is made or removed meanwhile.
  std::map<std::string, Entry, std::less<>> entries;
  std::map<uint64_t, std::string> order;  // cookie -> name
  uint64_t last_cookie = 0;
  Node* parent = nullptr;  // null: the root, or removed

  bool is_dir() const { return S_ISDIR(attr.mode); }
  bool is_file() const { return S_ISREG(attr.mode); }
  bool gone() const { return attr.nlink == 0; }
  void touch(bool content);  // ctime, and mtime where the content changed
};

int64_t wall_clock();  // ns since the Unix epoch

}  // namespace fsr
