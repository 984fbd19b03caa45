// SPDX-License-Identifier: Apache-2.0
#include "engine/consequences.hpp"

namespace fsr {

constexpr size_t kMostRemembered = 1 << 20;

void Consequences::collect(const Op& op) {
  collect_accesses(op, known_, locked_, nameless_, accesses_);
  const uint64_t own = stream_key(op.thread);
  for (Access& access : accesses_)
    if (access.key == own) access.key = 0;
}

void Consequences::spread(uint32_t cause) {
  for (const Access& access : accesses_)
    if (access.key && access.mode != Access::shared && unchanged_.size() < kMostRemembered)
      unchanged_.try_emplace(access.key, cause);
}

void Consequences::not_done(const Op& op) {
  std::lock_guard lock(mutex_);
  if (unchanged_.size() >= kMostRemembered) return;
  collect(op);
  const size_t before = unchanged_.size();
  spread(uint32_t(causes_.size()));
  if (unchanged_.size() > before) causes_.push_back({op.seq, op.kind, std::string(op.name.empty() ? op.name2 : op.name)});
}

bool Consequences::follows(const Op& op) {
  std::lock_guard lock(mutex_);
  if (unchanged_.empty()) return false;
  collect(op);
  std::optional<uint32_t> cause;
  for (const Access& access : accesses_) {
    if (!access.key || access.mode == Access::change) continue;  // what merely adds to a directory does not depend on it
    const auto found = unchanged_.find(access.key);
    if (found != unchanged_.end() && (!cause || causes_[found->second].seq < causes_[*cause].seq)) cause = found->second;
  }
  if (!cause) return false;
  if (!first_ || causes_[*cause].seq < causes_[*first_].seq) first_ = cause;
  spread(*cause);
  return true;
}

std::optional<Consequences::Cause> Consequences::first() {
  std::lock_guard lock(mutex_);
  return first_ ? std::optional(causes_[*first_]) : std::nullopt;
}

}  // namespace fsr
