// SPDX-License-Identifier: Apache-2.0
#include "plan/print_data.hpp"

#include <cstring>

namespace fsr {

namespace {

constexpr size_t kHead = 9;  // bytes of the hash and the level

void fill(const BlockPrint& print, char* out, size_t bytes) {
  memset(out, 0, bytes);
  if (print.level == 0) return;
  char head[kHead];
  memcpy(head, &print.hash, 8);
  head[8] = char(print.level);
  memcpy(out, head, std::min(bytes, kHead));
  uint64_t state = print.hash ^ print.level;
  const size_t noise = bytes * std::min<size_t>(print.level, 8) / 8;
  for (size_t at = kHead; at < noise; at += 8) {
    // xorshift64*, Vigna 2016, "An experimental exploration of Marsaglia's xorshift generators, scrambled".
    state |= state == 0;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    const uint64_t word = state * 0x2545f4914f6cdd1dull;
    memcpy(out + at, &word, std::min<size_t>(8, noise - at));
  }
}

bool is_filled(const BlockPrint& print, std::string_view got) {
  char made[kPrintBlock];
  fill(print, made, got.size());
  return memcmp(made, got.data(), got.size()) == 0;
}

}  // namespace

void print_data(std::span<const BlockPrint> blocks, uint64_t offset, std::span<char> out) {
  size_t done = 0;
  for_each_block(blocks, offset, out.size(), [&](const BlockPrint& print, uint64_t from, size_t bytes) {
    fill(print, &out[from], bytes);
    done = from + bytes;
  });
  if (done < out.size()) memset(&out[done], 0, out.size() - done);
}

BlockMatch compare_block(const BlockPrint& expected, std::string_view got) {
  if (is_filled(expected, got)) return BlockMatch::same;
  if (got.size() < kHead) return BlockMatch::unknown;
  BlockPrint given;
  memcpy(&given.hash, got.data(), 8);
  given.level = uint8_t(got[8]);
  if (given.level == 0 || given.level > 8 || !is_filled(given, got)) return BlockMatch::unknown;
  // The same content may have been recorded with different levels.
  if (given.hash == expected.hash && expected.level != 0) return BlockMatch::same;
  // The block is random up to its end, so it may be the beginning of a longer block that the read did not cover.
  const bool may_go_on = given.level == 8 && got.size() < kPrintBlock;
  return may_go_on ? BlockMatch::unknown : BlockMatch::other;
}

}  // namespace fsr
