// SPDX-License-Identifier: Apache-2.0
// Shared by importers of input without threads and opens, such as block traces and job logs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "import_tree.hpp"

namespace fsr {

// Assigns threads to operations whose thread is unknown. Operations that overlapped get different threads, because operations of
// one thread wait for each other. One owner has at most 4096 threads; beyond that, the one that is free first is used.
class ImportLanes {
 public:
  explicit ImportLanes(ImportSink& sink) : sink_(sink) {}
  // Puts `op` on a thread of `owner` (a process, a client, a disk) that is free at its start. `command` names new ones.
  void assign(Op& op, int32_t owner, std::string_view command);

 private:
  struct Lane {
    const ThreadInfo* who;
    int64_t end;
  };
  ImportSink& sink_;
  std::map<int32_t, std::vector<Lane>> lanes_;
};

// Files that are open from their first use to the end, each with one open instance; both ends are marked as inferred.
class ImportFiles {
 public:
  ImportFiles(std::string_view directory, ImportSink& sink) : tree_(directory), sink_(sink) {}

  struct File {
    NodeId node = 0;
    HandleId handle = 0;
  };
  // The open file at `path`, opened just before `like` if it was not. False: not a path below the directory.
  bool at(std::string_view path, const Op& like, File* out);
  void fill(const File& file, Op* op) {
    op->object = tree_.node(file.node).object;
    op->handle = file.handle;
  }
  void close(std::string_view path, const Op& like, bool inferred);
  void close_all();  // when the last of all ends

 private:
  void release(const File& file, const Op& like, bool inferred);

  ImportTree tree_;
  ImportSink& sink_;
  std::map<std::string, File, std::less<>> open_;
  HandleId next_handle_ = 1;
  Op last_;  // of all that used a file, the one that ended last
};

}  // namespace fsr
