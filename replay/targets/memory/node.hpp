// SPDX-License-Identifier: Apache-2.0
// One object of the memory target. Protected by the tree's mutex.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <memory>
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
  Attr attr;                  // mode, owner, links and times; the size of a regular file is in `data`
  std::vector<ObjectId> ids;  // ids that operations use for it
  unsigned opens = 0;
  bool unnamed = false;  // created without a name (tmpfile), and may get one by a link
  FileData data;
  std::string target;  // of a symlink
  std::map<std::string, std::string, std::less<>> xattrs;
  std::unique_ptr<LockTable> locks;  // null: none was ever asked for
  // For directories. An entry keeps its cookie, so that a readdir continues correctly after entries are created or removed.
  std::map<std::string, Entry, std::less<>> entries;
  std::map<uint64_t, std::string> order;  // cookie -> name
  uint64_t last_cookie = 0;
  Node* parent = nullptr;  // of a directory; null: the root, or removed

  bool is_dir() const { return S_ISDIR(attr.mode); }
  bool is_file() const { return S_ISREG(attr.mode); }
  bool gone() const { return attr.nlink == 0; }
  LockTable& lock_table() {
    if (!locks) locks = std::make_unique<LockTable>();
    return *locks;
  }
  void touch(bool content);  // sets ctime, and with `content` also mtime
};

}  // namespace fsr
