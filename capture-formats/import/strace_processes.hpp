// SPDX-License-Identifier: Apache-2.0
// Processes of a strace log: threads, their descriptors, working directories and masks, as clone, exec and exit change them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "import_tree.hpp"

namespace fsr::strace {

// An open file description: shared by descriptors that dup and fork made of one.
struct Description {
  HandleId handle = 0;  // 0: opened by no request (O_PATH), or outside of what is imported
  NodeId node = 0;
  uint64_t offset = 0;
  uint64_t flags = 0;    // O_*
  uint64_t entries = 0;  // of a directory, read so far
  bool directory = false;
};

struct Descriptor {
  std::shared_ptr<Description> open;  // null: no file (a pipe, a socket)
  bool close_on_exec = false;
};
using Descriptors = std::map<int, Descriptor>;

struct Directory {  // what CLONE_FS shares
  NodeId cwd = 0;
  uint32_t umask = 022;
};

struct Thread {
  int32_t tid = 0;
  const ThreadInfo* who = nullptr;
  std::shared_ptr<Descriptors> files;
  std::shared_ptr<Directory> directory;
  // A call that has begun and not returned yet.
  std::string pending;
  int64_t pending_since = 0;
  int32_t made = 0;  // by the pending clone: a thread that was seen before it returned
};

class Processes {
 public:
  Processes(ImportTree& tree, ImportSink& sink) : tree_(tree), sink_(sink) {}

  // A thread that was not seen before is taken for the child of the oldest clone that has not returned. Null `parent`: of none.
  Thread& thread(int32_t tid);
  Thread* find(int32_t tid);
  // A clone returned `child` in `parent`; `arguments` hold its flags.
  void cloned(Thread& parent, int32_t child, std::string_view arguments);
  void renamed(Thread& thread, std::string_view command);  // by an exec
  void set_cwd(Thread& thread, NodeId node);
  void erase(int32_t tid);
  // A call has begun in `thread`, which has none pending, and will return later.
  void suspend(Thread& thread, std::string_view call, int64_t start);
  // Returns the text of the pending call, which then is none any more; empty: there was none.
  std::string resume(Thread& thread);
  bool last_user(const Thread& thread) const { return thread.files.use_count() == 1; }
  int64_t oldest_pending() const { return pending_.empty() ? INT64_MAX : pending_.begin()->first; }  // INT64_MAX: none
  uint64_t pending() const { return pending_.size(); }

 private:
  Thread& add(int32_t tid, const Thread* parent, std::string_view arguments);

  ImportTree& tree_;
  ImportSink& sink_;
  std::map<int32_t, Thread> threads_;
  std::set<std::pair<int64_t, int32_t>> pending_;  // start and thread
  std::set<std::pair<int64_t, int32_t>> clones_;   // calls of `pending_` whose child was not seen yet
};

}  // namespace fsr::strace
