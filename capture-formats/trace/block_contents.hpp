// SPDX-License-Identifier: Apache-2.0
// Operations of a block, as far as they are known before they are unpacked. Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "../op.hpp"

namespace fsr {

struct BlockContents {
  uint64_t kinds = 0;               // a bit for each OpKind
  std::vector<ThreadInfo> threads;  // without those of which the trace has only the number
  bool complete = true;             // false: the block is damaged, and may hold more
};
static_assert(kOpKinds <= 64);

}  // namespace fsr
