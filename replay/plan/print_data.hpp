// SPDX-License-Identifier: Apache-2.0
// Data in place of captured content of which only fingerprints are known: zeros for zeros, and else bytes that follow from the
// fingerprint alone, so that equal blocks stay equal, and that compress about as well.
//
// A block begins with its hash and level (9 bytes); pseudo-random bytes follow up to level eighths of it, then zeros. So a block
// that is read says itself which fingerprint it was made from. No state; free of threads.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "op.hpp"

namespace fsr {

// Calls visit(print, from, bytes) for each block of a read or write of `bytes` at `offset`, `from` counted from its beginning.
// Stops where there are no more fingerprints.
template <class Visit>
void for_each_block(std::span<const BlockPrint> blocks, uint64_t offset, uint64_t bytes, Visit visit) {
  uint64_t from = 0;
  for (const BlockPrint& print : blocks) {
    const uint64_t n = std::min(bytes - from, kPrintBlock - (offset + from) % kPrintBlock);
    if (n == 0) return;
    visit(print, from, size_t(n));
    from += n;
  }
}

// The data of a write of out.size() bytes; zeros behind the last fingerprint.
void print_data(std::span<const BlockPrint> blocks, uint64_t offset, std::span<char> out);

// What a block that was read has to do with the fingerprint that was expected there. unknown: it is no block of ours as a whole
// (written in parts, copied, never written), so nothing can be said.
enum class BlockMatch { same, other, unknown };
BlockMatch compare_block(const BlockPrint& expected, std::string_view got);

}  // namespace fsr
