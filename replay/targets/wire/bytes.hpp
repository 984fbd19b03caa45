// SPDX-License-Identifier: Apache-2.0
// Reads and writes numbers and strings in messages, in either byte order, without alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fsr::wire {

// A reader of a message. After a read beyond the end, ok() is false, and all further reads return zero or empty.
template <std::endian order>
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : next_(bytes.data()), left_(bytes.size()) {}
  explicit ByteReader(std::string_view s) : ByteReader(std::span(reinterpret_cast<const uint8_t*>(s.data()), s.size())) {}
  bool ok() const { return ok_; }
  size_t left() const { return left_; }
  uint8_t u8() { return uint8_t(number(1)); }
  uint16_t u16() { return uint16_t(number(2)); }
  uint32_t u32() { return uint32_t(number(4)); }
  uint64_t u64() { return number(8); }
  std::string_view bytes(size_t size) {
    const uint8_t* b = take(size);
    return b ? std::string_view(reinterpret_cast<const char*>(b), size) : std::string_view();
  }

 private:
  uint64_t number(unsigned size) {
    const uint8_t* b = take(size);
    uint64_t v = 0;
    for (unsigned i = 0; b && i < size; ++i) v |= uint64_t(b[i]) << (8 * (order == std::endian::big ? size - 1 - i : i));
    return v;
  }
  const uint8_t* take(size_t size) {
    if (size > left_) {
      ok_ = false;
      left_ = 0;
      return nullptr;
    }
    const uint8_t* b = next_;
    next_ += size;
    left_ -= size;
    return b;
  }
  const uint8_t* next_;
  size_t left_;
  bool ok_ = true;
};

template <std::endian order>
void append_number(std::vector<uint8_t>& bytes, uint64_t v, unsigned size) {
  for (unsigned i = 0; i < size; ++i) bytes.push_back(uint8_t(v >> (8 * (order == std::endian::big ? size - 1 - i : i))));
}

}  // namespace fsr::wire
