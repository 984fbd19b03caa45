// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/live_names.hpp"

#include <linux/fs.h>

#include "util/name_hash.hpp"

namespace fsr {

LiveNames::LiveNames() { objects_.insert(kRootObject); }

void LiveNames::add_name(ObjectId parent, std::string_view name, bool listed) {
  const uint64_t hash = name_hash(parent, name);
  names_.insert(hash);
  if (listed)
    listed_.insert(hash);
  else
    listed_.erase(hash);
  removed_.erase(hash);
}

bool LiveNames::name(ObjectId parent, std::string_view name) const { return names_.contains(name_hash(parent, name)); }

bool LiveNames::listed(ObjectId parent, std::string_view name) const { return listed_.contains(name_hash(parent, name)); }

bool LiveNames::removed_since(ObjectId parent, std::string_view name, int64_t time) const {
  const auto found = removed_.find(name_hash(parent, name));
  return found != removed_.end() && found->second > time;
}

void LiveNames::forget_removed(int64_t before) {
  std::erase_if(removed_, [before](const auto& entry) { return entry.second < before; });
}

void LiveNames::apply(const Op& op) {
  if (op.error || op.has(kOpUnfinished)) return;
  for (const ObjectId id : {op.object, op.object2, op.parent, op.parent2})
    if (id) objects_.insert(id);
  for (const HandleId handle : {op.handle, op.handle2})
    if (handle) handles_.insert(handle);
  const bool moves = op.kind == OpKind::rename && !(op.flags & RENAME_EXCHANGE) && op.object != op.object2;
  if (op.parent && !op.name.empty()) {
    if (moves || op.kind == OpKind::unlink || op.kind == OpKind::rmdir) {
      const uint64_t hash = name_hash(op.parent, op.name);
      names_.erase(hash);
      listed_.erase(hash);
      removed_[hash] = op.end();
    } else {
      add_name(op.parent, op.name);
    }
  }
  if (op.parent2 && !op.name2.empty()) add_name(op.parent2, op.name2);
}

}  // namespace fsr
