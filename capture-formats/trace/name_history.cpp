// SPDX-License-Identifier: Apache-2.0
#include "name_history.hpp"

#include <utility>

#include "paths.hpp"

namespace fsr {

constexpr size_t kBytesOfName = 100;  // beside the name's own

void NameHistory::apply(const Op& op) {
  if (full_) return;
  operations_ = op.seq + 1;
  visit_new_names(op, [this](ObjectId parent, std::string_view name, ObjectId object) { put(parent, name, object); });
}

void NameHistory::put(ObjectId parent, std::string_view name, ObjectId object) {
  auto [it, first] = names_.try_emplace(object);
  Name& now = it->second;
  if (!first) {
    if (now.parent == parent && now.name == name) return;
    earlier_.push_back(std::move(now));
  }
  now = {.parent = parent, .name = std::string(name), .since = operations_, .before = first ? 0 : earlier_.size()};
  bytes_ += kBytesOfName + name.size();
  if (bytes_ <= most_) return;
  full_ = true;
  operations_ = 0;
  names_ = {};
  earlier_ = {};
}

void NameHistory::begin_with(ObjectId parent, std::string_view name, ObjectId object) {
  if (!is_name(parent, name, object)) return;
  Name* oldest = &names_.try_emplace(object).first->second;
  while (oldest->before) oldest = &earlier_[oldest->before - 1];
  if (oldest->since) {
    oldest->before = earlier_.size() + 1;
    oldest = &earlier_.emplace_back();
  }
  *oldest = {.parent = parent, .name = std::string(name), .since = 0};
}

std::string NameHistory::of(const Op& op) const {
  const uint64_t seen = op.seq + (op.kind != OpKind::rename);
  return path_of(op, [&](ObjectId object) -> const Name* {
    auto found = names_.find(object);
    const Name* name = found == names_.end() ? nullptr : &found->second;
    while (name && name->since > seen) name = name->before ? &earlier_[name->before - 1] : nullptr;
    return name;
  });
}

}  // namespace fsr
