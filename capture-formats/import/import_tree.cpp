// SPDX-License-Identifier: Apache-2.0
#include "import_tree.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace fsr {

constexpr unsigned kMostLinks = 40;        // of one path, as in Linux
constexpr size_t kLongestPath = 64 << 10;  // with links put in; bytes

ImportTree::ImportTree(std::string_view directory) {
  ImportNode& top = nodes_[next_node_++];
  top.type = S_IFDIR;
  top.names = top.holds = 1;
  top.introduced = true;
  directory_ = kTopNode;
  while (!directory.empty()) {
    const size_t end = std::min(directory.find('/'), directory.size());
    const std::string_view name = directory.substr(0, end);
    directory.remove_prefix(std::min(end + 1, directory.size()));
    if (!name.empty() && name != ".") directory_ = make(directory_, name, S_IFDIR);
  }
  ImportNode& root = node(directory_);
  root.object = next_object_++;
  root.introduced = true;
  root.holds++;
}

NodeId ImportTree::make_nameless(NodeId directory, uint32_t type) {
  const NodeId id = next_node_++;
  ImportNode& n = nodes_[id];
  n.type = type;
  if (inside(directory)) n.object = next_object_++;
  return id;
}

NodeId ImportTree::make(NodeId parent, std::string_view name, uint32_t type) {
  const NodeId id = make_nameless(parent, type);
  bind(parent, name, id);
  return id;
}

void ImportTree::bind(NodeId parent, std::string_view name, NodeId id) {
  ImportNode& n = node(id);
  ++n.names;  // before unbind(): `id` may have had this name already
  unbind(parent, name);
  node(parent).entries.insert_or_assign(std::string(name), id);
  n.parent = parent;
  n.name = name;
}

void ImportTree::unbind(NodeId parent, std::string_view name) {
  auto& entries = node(parent).entries;
  auto it = entries.find(name);
  if (it == entries.end()) {
    entries.emplace(name, 0);
    return;
  }
  const NodeId was = std::exchange(it->second, 0);
  if (!was) return;
  --node(was).names;
  forget_unused(was);
}

void ImportTree::drop(NodeId id) {
  --node(id).holds;
  forget_unused(id);
}

void ImportTree::forget_unused(NodeId id) {
  auto it = nodes_.find(id);
  if (it->second.names || it->second.holds) return;
  const auto entries = std::move(it->second.entries);
  nodes_.erase(it);
  // The log may show that a directory was removed, but not that its entries were.
  for (const auto& [name, child] : entries)
    if (child && --node(child).names == 0) forget_unused(child);
}

ImportTree::Found ImportTree::find(NodeId base, std::string_view given, bool follow, bool exists) {
  std::string path(given);
  size_t next = 0;
  unsigned links = 0;
  NodeId at = path.starts_with('/') ? kTopNode : base;
  for (;;) {
    next = path.find_first_not_of('/', next);
    if (next == std::string::npos) return {.parent = node(at).parent, .name = node(at).name, .node = at};
    size_t end = std::min(path.find('/', next), path.size());
    const std::string name = path.substr(next, end - next);
    const bool last = path.find_first_not_of('/', end) == std::string::npos;
    const bool slash = end < path.size();
    next = end;
    if (name == ".") continue;
    if (name == "..") {
      at = known(node(at).parent) ? node(at).parent : kTopNode;
      continue;
    }
    if (!valid_component(name)) return {.parent = at, .name = name, .bad = true};
    auto entry = node(at).entries.find(name);
    NodeId child = entry == node(at).entries.end() ? 0 : entry->second;
    if (!child) {
      const bool absent = node(at).whole || entry != node(at).entries.end();
      if (last || !exists) return {.parent = at, .name = name, .absent = absent, .early = !last};
      child = make(at, name, S_IFDIR);
    }
    const ImportNode& n = node(child);
    if (n.type == S_IFLNK && !n.target.empty() && (!last || follow || slash)) {
      path = n.target + "/" + path.substr(end);
      if (last && !slash) path.pop_back();
      next = 0;
      if (++links > kMostLinks || path.size() > kLongestPath) return {.parent = at, .name = name, .node = child, .bad = true};
      if (path.starts_with('/')) at = kTopNode;
      continue;
    }
    if (last) return {.parent = at, .name = name, .node = child};
    at = child;
  }
}

void ImportTree::introduce(NodeId id, const Op& like, ImportSink& sink) {
  std::vector<NodeId> way;  // from the file up
  for (; known(id) && inside(id) && !node(id).introduced && node(id).parent; id = node(id).parent) {
    way.push_back(id);
    node(id).introduced = true;
  }
  for (auto it = way.rbegin(); it != way.rend(); ++it) {
    const ImportNode& n = node(*it);
    Op op{.start = like.start, .kind = OpKind::lookup, .op_flags = kOpInferred, .thread = like.thread, .object = n.object};
    op.who = like.who;
    op.parent = node(n.parent).object;
    op.name = n.name;
    // An object that was used as a directory is one; its permissions are unknown.
    Attr attr{.valid = kAttrMode, .mode = S_IFDIR | 0755};
    if (n.type == S_IFDIR) op.attr = &attr;
    sink.add(op);
  }
}

}  // namespace fsr
