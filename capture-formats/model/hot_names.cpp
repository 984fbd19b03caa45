// SPDX-License-Identifier: Apache-2.0
#include "model/hot_names.hpp"

#include <xxhash.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace fsr {

namespace {

constexpr double kHotShare = 0.002;  // of the operations that a hot name has, at least,
constexpr uint64_t kHotUses = 6;     // and uses in each trace
constexpr uint64_t kCourseUses = 3;  // of a name that courses know, in all traces
constexpr size_t kMostDepth = 256;   // of a path; deeper ones are not known

bool makes(OpKind kind) {
  return kind == OpKind::create || kind == OpKind::mkdir || kind == OpKind::mknod || kind == OpKind::symlink;
}

}  // namespace

uint64_t PathKeys::of(ObjectId object) const {
  uint64_t hashes[kMostDepth];
  size_t depth = 0;
  for (; object != kRootObject; ++depth) {
    auto found = names_.find(object);
    if (found == names_.end() || depth == kMostDepth) return 0;
    hashes[depth] = found->second.hash;
    object = found->second.parent;
  }
  uint64_t key = 1;
  while (depth > 0) key = XXH3_64bits_withSeed(&hashes[--depth], sizeof hashes[0], key);
  return key;
}

uint64_t PathKeys::of(ObjectId parent, std::string_view name) const {
  const uint64_t in = of(parent), hash = XXH3_64bits(name.data(), name.size());
  return in ? XXH3_64bits_withSeed(&hash, sizeof hash, in) : 0;
}

PathKeys::Name PathKeys::name_of(ObjectId parent, std::string_view name) {
  return {parent, XXH3_64bits(name.data(), name.size())};
}

PathKeys::Name PathKeys::name_of(ObjectId object) const {
  auto found = names_.find(object);
  return found == names_.end() ? Name{} : found->second;
}

void PathKeys::set(ObjectId object, ObjectId parent, std::string_view name) {
  if (object && object != kRootObject) names_[object] = name_of(parent, name);
}

void PathKeys::apply(const Op& op) {
  if (op.error) return;
  if (op.kind == OpKind::lookup || makes(op.kind)) {
    set(op.object, op.parent, op.name);
  } else if (op.kind == OpKind::rename) {
    names_.erase(op.object2);
    set(op.object, op.parent2, op.name2);
  } else if (op.kind == OpKind::unlink || op.kind == OpKind::rmdir) {
    names_.erase(op.object);
  }
}

// Operations that stay at a name need no number for it.
bool HotNames::comes(ThreadId thread, uint64_t key) {
  uint64_t& at = at_[thread];
  return std::exchange(at, key) != key;
}

void HotNames::use(ObjectId parent, std::string_view name, bool exists, const Op& op) {
  const uint64_t key = keys_.of(parent, name);
  if (!key || key == 1) return;
  auto [path, first] = paths_.try_emplace(key);
  path->second.uses += comes(op.thread, key);
  if (first) {
    path->second.parent = keys_.of(parent);
    path->second.leaf = PathKeys::name_of(parent, name).hash;
  }
  const bool starts = first || path->second.starts.back().trace != traces_;
  if (starts) path->second.starts.push_back({.trace = traces_, .existed = exists});
  if (!exists || !op.attr) return;
  if (op.attr->valid & kAttrMode) path->second.type = uint8_t((op.attr->mode & 0170000) >> 12);
  if (!(op.attr->valid & kAttrSize) || path->second.type == kDirectoryType) return;
  if (starts) path->second.starts.back().size = op.attr->size;
  path->second.largest = std::max(path->second.largest, op.attr->size);
}

void HotNames::add(const Op& op) {
  if (op.has(kOpUnfinished)) return;
  ++operations_;
  if (op.parent && !op.name.empty()) {
    const bool exists = !makes(op.kind) ? !op.error : !op.error ? op.kind == OpKind::create && !op.has(kOpCreated) : true;
    use(op.parent, op.name, exists, op);
    if (op.kind == OpKind::rename) use(op.parent2, op.name2, op.object2 != kNoObject, op);
  } else if (op.object && (!op.handle || op.kind == OpKind::open || op.kind == OpKind::opendir)) {
    if (auto known = paths_.find(keys_.of(op.object)); known != paths_.end()) {
      known->second.uses += comes(op.thread, known->first);
      const bool directory = known->second.type == kDirectoryType;
      if (!directory && op.attr && op.attr->valid & kAttrSize)
        known->second.largest = std::max(known->second.largest, op.attr->size);
    }
  }
  if (op.kind == OpKind::readdir || op.kind == OpKind::readdirplus) list(op);
  keys_.apply(op);
}

// A directory has as many entries at first as its first listing in a trace.
void HotNames::list(const Op& op) {
  const auto dots =
      std::count_if(op.entries.begin(), op.entries.end(), [](const auto& e) { return e.name == "." || e.name == ".."; });
  const uint64_t entries = op.entries.size() - size_t(dots);
  if (op.error || !entries) return;
  if (op.object == kRootObject) {
    if (!root_entries_) root_entries_ = entries;
  } else if (auto known = paths_.find(keys_.of(op.object)); known != paths_.end() && !known->second.starts.back().size) {
    known->second.starts.back().size = entries;
  }
}

void HotNames::end_trace() {
  keys_ = {};
  at_.clear();
  ++traces_;
}

void HotNames::choose(ModelForm form) {
  const double least = std::max(double(kHotUses * std::max(1u, traces_)), double(operations_) * kHotShare);
  std::vector<std::pair<uint64_t, uint64_t>> most;  // uses and key
  for (const auto& [key, path] : paths_)
    if (form == ModelForm::courses ? path.uses >= kCourseUses : double(path.uses) >= least) most.emplace_back(path.uses, key);
  std::sort(most.rbegin(), most.rend());
  const size_t limit = form == ModelForm::courses ? kMostHotNames : kListedNames;
  if (most.size() > limit) most.resize(limit);
  std::vector<uint64_t> left;
  std::unordered_map<uint64_t, uint32_t> leaves;   // number of the first name, from 1
  std::set<std::pair<uint32_t, uint64_t>> places;  // directories' numbers and names; several directories may have none
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
      OftenUsedName name{.type = path.type, .existed = path.starts.front().existed, .size = path.starts.front().size};
      if (auto parent = numbers_.find(path.parent); parent != numbers_.end()) {
        name.parent = uint32_t(parent->second) + 1;
        if (form == ModelForm::courses) names_[size_t(parent->second)].type = kDirectoryType;
      }
      if (form == ModelForm::courses && places.emplace(name.parent, path.leaf).second)
        if (auto [same, first] = leaves.try_emplace(path.leaf, uint32_t(names_.size() + 1)); !first) name.same = same->second;
      numbers_[key] = int(names_.size());
      names_.push_back(name);
      named_.push_back(key);
    }
    if (later.size() == left.size()) break;  // paths of which each seems to be the other's directory
    left = std::move(later);
  }
}

std::vector<OftenUsedName> HotNames::names_at(size_t trace) const {
  std::vector<OftenUsedName> names = names_;
  for (size_t i = 0; i < names.size(); ++i)
    for (const Start& start : paths_.at(named_[i]).starts)
      if (start.trace == trace) std::tie(names[i].existed, names[i].size) = std::pair(start.existed, start.size);
  return names;
}

int HotNames::number(uint64_t key) const {
  auto found = numbers_.find(key);
  return found == numbers_.end() ? -1 : found->second;
}

}  // namespace fsr
