// SPDX-License-Identifier: Apache-2.0
// A file system in memory with the semantics and errors of a local Linux one, without permission checks.
//
// Thread-safe: one mutex protects the tree, so that operations are serial. Operations never block: if another owner holds a lock,
// the error is EAGAIN, even if the request would wait. Content is limited (ENOSPC).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lock_table.hpp"
#include "base/target.hpp"
#include "file_data.hpp"
#include "targets/dir_cursor.hpp"

namespace fsr {

class MemoryTree {
 public:
  explicit MemoryTree(uint64_t limit_bytes);
  ~MemoryTree();

  // Memory for the outcome of an operation, valid until the next perform() with the same Reply.
  struct Reply {
    std::string data;
    std::vector<std::string> names;
    std::vector<DirEntry> entries;
  };
  // Performs one operation and fills in `outcome`, except its time. True: a lock may have been released.
  bool perform(const Op& op, std::string_view payload, Credentials who, Outcome& outcome, Reply& reply);

  Space space();
  bool empty();

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  struct Open {
    NodePtr node;
    DirCursor cursor;
    std::optional<uint64_t> listed_to;  // last cookie of the current listing
    bool readable = false, writable = false;
  };
  struct Context {
    const Op& op;
    std::string_view payload;
    Credentials who;
    Outcome& outcome;
    Reply& reply;
    bool released = false;
  };

  using Operation = int(Context& c);  // returns an errno
  Operation dispatch;
  Operation lookup, create, tmpfile, symlink, link, rename, readdir;  // of names
  int make(Context& c, uint32_t mode, NodePtr* made);
  int remove(Context& c, bool directory);
  Operation release, setattr, read, write, copy_range, fallocate, seek, flush, lock, flock;  // of files
  int open(Context& c, bool directory);
  Operation getxattr, setxattr, listxattr, removexattr;

  NodePtr find(ObjectId id) const;
  Open* find_open(HandleId id);
  // Finds the subject of an operation: its open instance if it has one, else its object.
  int subject(const Op& op, NodePtr* node);
  int directory(ObjectId id, NodePtr* node) const;
  int entry(Node& parent, std::string_view name, NodePtr* node) const;
  // Sets the node of a name. Null: removes the name. An existing name keeps its cookie, so that a listing has it once.
  void set_entry(Node& parent, std::string_view name, const NodePtr& node);
  void unlinked(const NodePtr& node);
  void map_id(ObjectId id, const NodePtr& node);
  NodePtr new_node(Context& c, uint32_t mode);
  void open_node(HandleId handle, const NodePtr& node, uint32_t open_flags);
  // Calls `change` on a node's data and updates the sum of all allocated bytes.
  template <class Change>
  void change_data(Node& node, Change change);
  void reply_attr(const Node& node, Outcome& outcome) const;

  std::mutex mutex_;
  const uint64_t limit_;
  uint64_t used_ = 0;  // bytes of content
  uint64_t last_ino_ = 0;
  std::unordered_map<ObjectId, NodePtr> objects_;
  std::unordered_map<HandleId, Open> opens_;
  std::deque<NodePtr> removed_;
};

}  // namespace fsr
