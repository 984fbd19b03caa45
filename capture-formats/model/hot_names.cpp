// SPDX-License-Identifier: Apache-2.0
#include "model/hot_names.hpp"

#include <xxhash.h>

#include <algorithm>

namespace fsr {

namespace {

constexpr double kHotShare = 0.002;  // of the operations that a hot name has, at least,
constexpr uint64_t kHotUses = 6;     // and uses in each trace

bool makes(OpKind kind) {
  return kind == OpKind::create || kind == OpKind::mkdir || kind == OpKind::mknod || kind == OpKind::symlink;
}

}  // namespace

uint64_t PathKeys::of(ObjectId object) const {
  auto found = keys_.find(object);
  return found == keys_.end() ? 0 : found->second;
}

uint64_t PathKeys::of(ObjectId parent, std::string_view name) const {
  const uint64_t in = of(parent);
  return in ? XXH3_64bits_withSeed(name.data(), name.size(), in) : 0;
}

void PathKeys::set(ObjectId object, uint64_t key) {
  if (!object || object == kRootObject) return;
  if (key)
    keys_[object] = key;
  else
    keys_.erase(object);
}

void PathKeys::apply(const Op& op) {
  if (op.error) return;
  if (op.kind == OpKind::lookup || makes(op.kind)) {
    set(op.object, of(op.parent, op.name));
  } else if (op.kind == OpKind::rename) {
    if (op.object2) set(op.object2, 0);
    set(op.object, of(op.parent2, op.name2));
  } else if (op.kind == OpKind::unlink || op.kind == OpKind::rmdir) {
    set(op.object, 0);
  }
}

void HotNames::use(uint64_t key, uint64_t parent, bool exists, const Op& op) {
  if (!key || key == 1) return;
  auto [path, first] = paths_.try_emplace(key);
  ++path->second.uses;
  if (first) {
    path->second.parent = parent;
    path->second.first.existed = exists;
  }
  OftenUsedName& name = path->second.first;
  if (!exists || !op.attr) return;
  if (op.attr->valid & kAttrMode) name.type = uint8_t((op.attr->mode & 0170000) >> 12);
  if (!(op.attr->valid & kAttrSize)) return;
  if (first) name.size = op.attr->size;
  path->second.largest = std::max(path->second.largest, op.attr->size);
}

void HotNames::add(const Op& op) {
  if (op.has(kOpUnfinished)) return;
  ++operations_;
  if (op.parent && !op.name.empty()) {
    const bool exists = !makes(op.kind) ? !op.error : !op.error ? op.kind == OpKind::create && !op.has(kOpCreated) : true;
    use(keys_.of(op.parent, op.name), keys_.of(op.parent), exists, op);
    if (op.kind == OpKind::rename) use(keys_.of(op.parent2, op.name2), keys_.of(op.parent2), op.object2 != kNoObject, op);
  } else if (op.object && !op.handle) {
    if (auto known = paths_.find(keys_.of(op.object)); known != paths_.end()) {
      ++known->second.uses;
      if (op.attr && op.attr->valid & kAttrSize) known->second.largest = std::max(known->second.largest, op.attr->size);
    }
  }
  keys_.apply(op);
}

void HotNames::end_trace() {
  keys_ = {};
  ++traces_;
}

void HotNames::choose() {
  const double least = std::max(double(kHotUses * std::max(1u, traces_)), double(operations_) * kHotShare);
  std::vector<std::pair<uint64_t, uint64_t>> most;  // uses and key
  for (const auto& [key, path] : paths_)
    if (double(path.uses) >= least) most.emplace_back(path.uses, key);
  std::sort(most.rbegin(), most.rend());
  if (most.size() > kMostHotNames) most.resize(kMostHotNames);
  std::vector<uint64_t> left;
  for (const auto& [uses, key] : most) left.push_back(key);
  // Directories first: a name follows the one of its directory, if that is hot.
  while (!left.empty()) {
    std::vector<uint64_t> later;
    for (uint64_t key : left) {
      const Path& path = paths_[key];
      if (std::find(left.begin(), left.end(), path.parent) != left.end()) {
        later.push_back(key);
        continue;
      }
      OftenUsedName name = path.first;
      if (auto parent = numbers_.find(path.parent); parent != numbers_.end()) name.parent = uint32_t(parent->second) + 1;
      numbers_[key] = int(names_.size());
      names_.push_back(name);
      largest_.push_back(path.largest);
    }
    if (later.size() == left.size()) break;  // paths of which each seems to be the other's directory
    left = std::move(later);
  }
}

int HotNames::number(uint64_t key) const {
  auto found = numbers_.find(key);
  return found == numbers_.end() ? -1 : found->second;
}

}  // namespace fsr
