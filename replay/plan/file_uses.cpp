// SPDX-License-Identifier: Apache-2.0
#include "plan/file_uses.hpp"

#include <algorithm>
#include <limits>

#include "base/until_stopped.hpp"

namespace fsr {

void FileUses::add(OpSource& source, int64_t from, int64_t to) {
  UntilStopped going_on(source);
  OpBatch batch;
  while (going_on.next(batch))
    for (const Op& op : batch.ops) {
      if (op.start < from || op.start >= to || op.error || (op.kind != OpKind::read && op.kind != OpKind::write)) continue;
      const uint64_t length = op.has(kOpUnfinished) ? op.length : std::min(op.length, op.result);
      const uint64_t end =
          op.offset > std::numeric_limits<uint64_t>::max() - length ? std::numeric_limits<uint64_t>::max() : op.offset + length;
      if (length == 0) continue;
      auto [it, fresh] = index_.try_emplace(op.object, uses_.size());
      if (fresh) uses_.push_back({op.object, 0});
      uses_[it->second].end = std::max(uses_[it->second].end, end);
    }
}

}  // namespace fsr
