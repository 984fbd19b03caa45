// SPDX-License-Identifier: Apache-2.0
// Makes data for captured content of which only fingerprints are known. Zeros stay zeros. Other blocks get bytes that depend on
// the fingerprint only. So equal blocks stay equal, and compress about as well as the content.
//
// A block begins with its hash and level (9 bytes). Pseudo-random bytes follow up to level eighths of the block, then zeros. So a
// block that is read shows the fingerprint from which it was made. The functions have no state and are thread-safe.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "op.hpp"

namespace fsr {

// Calls visit(print, from, bytes) for each block of a read or write of `bytes` at `offset`. `from` counts from the beginning of
// the read or write. Stops after the last fingerprint.
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

// Fills `out` with the data of a write at `offset`; with zeros after the last fingerprint.
void print_data(std::span<const BlockPrint> blocks, uint64_t offset, std::span<char> out);

// Result of comparing a block that was read with the expected fingerprint. Unknown: nothing can be said, because print_data() did
// not make the block as a whole. (It was written in parts, copied or never written.)
enum class BlockMatch { same, other, unknown };
BlockMatch compare_block(const BlockPrint& expected, std::string_view got);

}  // namespace fsr
