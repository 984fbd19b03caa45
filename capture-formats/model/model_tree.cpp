// SPDX-License-Identifier: Apache-2.0
#include "model/model_tree.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace fsr {

ModelTree::ModelTree() {
  nodes_.emplace_back();
  const ObjectId root = add_nameless(kDirectoryType);
  nodes_[root].linked = true;
}

std::string ModelTree::text(uint64_t name) { return "n" + std::to_string(name); }

ObjectId ModelTree::add_nameless(uint8_t type) {
  ModelNode& n = nodes_.emplace_back();
  n.type = type;
  if (type == kDirectoryType) n.directory = std::make_unique<ModelDirectory>();
  return nodes_.size() - 1;
}

void ModelTree::attach(ObjectId id, ObjectId parent, uint64_t name) {
  std::vector<ObjectId>& children = nodes_[parent].directory->children;
  ++nodes_[parent].directory->changes;
  ModelNode& n = nodes_[id];
  n.parent = parent;
  n.name = name;
  n.linked = true;
  n.slot = uint32_t(children.size());
  children.push_back(id);
}

void ModelTree::detach(ObjectId id) {
  ModelNode& n = nodes_[id];
  ModelDirectory& from = *nodes_[n.parent].directory;
  from.children[n.slot] = from.children.back();
  nodes_[from.children[n.slot]].slot = n.slot;
  from.children.pop_back();
  if (!from.unseen.empty()) std::erase(from.unseen, id);
  n.linked = false;
}

ObjectId ModelTree::add(uint8_t type, ObjectId parent, uint64_t name, bool made) {
  const ObjectId id = add_nameless(type);
  nodes_[id].made = made;
  attach(id, parent, name);
  if (made) return id;
  nodes_[id].initial = uint32_t(initial_.size());
  initial_.push_back({id, parent, name, 0});
  return id;
}

void ModelTree::set_initial_size(ObjectId id, uint64_t size) { nodes_[id].size = initial_[nodes_[id].initial].size = size; }

std::vector<std::pair<uint64_t, ObjectId>> ModelTree::list(ObjectId id, uint64_t count) {
  ModelDirectory& d = *nodes_[id].directory;
  if (!d.listed && !nodes_[id].made)
    while (d.children.size() + d.links.size() < count) d.unseen.push_back(add(0, id, new_name(), false));
  d.listed = true;
  std::vector<std::pair<uint64_t, ObjectId>> names = d.links;
  for (ObjectId child : d.children) names.emplace_back(nodes_[child].name, child);
  return names;
}

bool ModelTree::may_hold_more(ObjectId id) const {
  const ModelNode& n = nodes_[id];
  return n.linked && n.directory && (!n.directory->unseen.empty() || (!n.made && !n.directory->listed));
}

bool ModelTree::may_hold_unlisted(ObjectId id) const {
  const ModelNode& n = nodes_[id];
  return n.linked && n.directory && !n.made && !n.directory->listed;
}

ObjectId ModelTree::discover(ObjectId parent, uint8_t type) {
  ModelDirectory& d = *nodes_[parent].directory;
  if (d.unseen.empty()) return add(type, parent, new_name(), false);
  const ObjectId id = d.unseen.front();
  decide(id, type);
  return id;
}

void ModelTree::decide(ObjectId id, uint8_t type) {
  ModelNode& n = nodes_[id];
  std::erase(nodes_[n.parent].directory->unseen, id);
  n.type = type;
  if (type == kDirectoryType) n.directory = std::make_unique<ModelDirectory>();
}

bool ModelTree::is_empty(ObjectId id) const {
  const ModelDirectory* d = nodes_[id].directory.get();
  return !d || (d->children.empty() && d->links.empty());
}

bool ModelTree::is_below(ObjectId id, ObjectId directory) const {
  for (; id != kNoObject; id = nodes_[id].parent)
    if (id == directory) return true;
  return false;
}

std::pair<ObjectId, uint64_t> ModelTree::remove_name(ObjectId id) {
  ModelNode& n = nodes_[id];
  const std::pair removed(n.parent, n.name);
  detach(id);
  if (n.links && !n.links->empty()) {
    const auto [parent, name] = n.links->back();
    n.links->pop_back();
    std::erase(nodes_[parent].directory->links, std::pair(name, id));
    attach(id, parent, name);
  }
  return removed;
}

void ModelTree::add_link(ObjectId id, ObjectId parent, uint64_t name) {
  ModelNode& n = nodes_[id];
  if (!n.links) n.links = std::make_unique<std::vector<std::pair<ObjectId, uint64_t>>>();
  n.links->emplace_back(parent, name);
  nodes_[parent].directory->links.emplace_back(name, id);
  ++nodes_[parent].directory->changes;
}

void ModelTree::move(ObjectId id, ObjectId parent, uint64_t name) {
  detach(id);
  attach(id, parent, name);
}

}  // namespace fsr
