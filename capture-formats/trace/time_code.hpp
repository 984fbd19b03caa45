// SPDX-License-Identifier: Apache-2.0
// Start distances and durations: a class byte and the bits below the class, in two columns.
//
// The low bits of a time at 1 ns are noise. In a column of bits of their own, they cost exactly their number. The class column
// beside it has the value if it is below 8, else its length in bits and the next two. Its values are distributed so unevenly that
// zstd's entropy coder shrinks them.
#pragma once

#include "bytes.hpp"

namespace fsr {

constexpr uint8_t kTimeNegative = 255;  // the value stands in the escape column, zigzag
constexpr uint8_t kMaxTimeClass = 251;

inline void put_time(uint64_t v, ByteWriter& classes, BitWriter& bits) {
  if (v < 8) return classes.u8(uint8_t(v));
  unsigned n = unsigned(std::bit_width(v));
  classes.u8(uint8_t(8 + (n - 4) * 4 + ((v >> (n - 3)) & 3)));
  bits.put(v & ((uint64_t(1) << (n - 3)) - 1), n - 3);
}

inline uint64_t get_time(uint8_t time_class, BitReader& bits) {
  if (time_class < 8) return time_class;
  unsigned n = unsigned(time_class - 8) / 4 + 4;
  return (uint64_t(4 | ((time_class - 8u) & 3)) << (n - 3)) | bits.get(n - 3);
}

}  // namespace fsr
