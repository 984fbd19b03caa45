// SPDX-License-Identifier: Apache-2.0
#include "slowest_ops.hpp"

#include <algorithm>

namespace fsr::fstrace {

void SlowestOps::add(const Op& op, const Paths& paths) {
  if (op.has(kOpUnfinished) || (list_.size() == kMost && op.duration <= list_.back().duration)) return;
  Slow slow{.kind = op.kind, .error = op.error, .start = op.start, .duration = op.duration, .path = paths.of(op), .command = {}};
  if (op.who) slow.command = op.who->command;
  const auto after = std::find_if(list_.begin(), list_.end(), [&](const Slow& other) { return other.duration < slow.duration; });
  list_.insert(after, std::move(slow));
  if (list_.size() > kMost) list_.pop_back();
}

}  // namespace fsr::fstrace
