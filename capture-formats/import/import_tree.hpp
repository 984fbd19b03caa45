// SPDX-License-Identifier: Apache-2.0
// The tree of files as the paths of a log show it: the file that a path leads to, and its identity in the trace. Also adds the
// lookups by which the trace learns of a file before its first use. One thread. Memory follows the files and names seen and not
// removed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "import.hpp"

namespace fsr {

using NodeId = uint64_t;        // of a file, dense, never reused; 0 = none
constexpr NodeId kTopNode = 1;  // "/"

struct ImportNode {
  NodeId parent = 0;  // where it was last seen
  std::string name;
  ObjectId object = kNoObject;  // in the trace; none: outside of the directory that is imported
  uint32_t type = 0;            // S_IFMT, 0 = not known
  uint64_t size = 0;
  bool size_known = false;
  bool whole = false;       // directory: made in the log, so all its names are known
  bool introduced = false;  // the trace contains its name
  uint32_t names = 0, holds = 0;
  std::string target;                                  // symlink, where known
  std::map<std::string, NodeId, std::less<>> entries;  // directory; 0: known to be absent
};

class ImportTree {
 public:
  // `directory`: absolute; it becomes the root of the trace.
  explicit ImportTree(std::string_view directory);

  struct Found {
    NodeId parent = 0;    // directory and last component: where the search ended
    std::string name;     // empty: the path ends with the root
    NodeId node = 0;      // 0: not known
    bool absent = false;  // known not to exist
    bool early = false;   // a component before the last is not known
    bool bad = false;     // it has a component that can't be a name, or too many links
  };
  // `exists`: the path's directories are there, as the outcome of a call has shown; unknown ones are added.
  Found find(NodeId base, std::string_view path, bool follow, bool exists);

  ImportNode& node(NodeId id) { return nodes_.at(id); }
  bool known(NodeId id) const { return nodes_.contains(id); }
  bool inside(NodeId id) const { return id && nodes_.at(id).object != kNoObject; }
  NodeId directory() const { return directory_; }

  NodeId make(NodeId parent, std::string_view name, uint32_t type);  // a new file; replaces a file of this name
  NodeId make_nameless(NodeId directory, uint32_t type);
  void bind(NodeId parent, std::string_view name, NodeId node);
  void unbind(NodeId parent, std::string_view name);  // from now on it is known to be absent
  void hold(NodeId id) { ++node(id).holds; }          // an open descriptor, a working directory
  void drop(NodeId id);

  // Adds a lookup, marked as inferred, for each name on the way to `id` that the trace has not shown yet. `like`: an
  // operation with the time and the caller.
  void introduce(NodeId id, const Op& like, ImportSink& sink);

 private:
  void forget_unused(NodeId id);

  std::unordered_map<NodeId, ImportNode> nodes_;
  NodeId next_node_ = kTopNode, directory_ = kTopNode;
  ObjectId next_object_ = kRootObject;
};

}  // namespace fsr
