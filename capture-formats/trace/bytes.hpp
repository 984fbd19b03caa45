// SPDX-License-Identifier: Apache-2.0
// Growing byte buffers and bounds-checked cursors: LEB128 varints, zigzag, little-endian words, bit strings.
//
// ByteReader and BitReader never read past their end: they answer 0 and clear ok(), which the caller checks once per operation.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace fsr {

static_assert(std::endian::native == std::endian::little, "the trace format is little-endian and read in place");

inline uint64_t zigzag(int64_t v) { return (uint64_t(v) << 1) ^ uint64_t(v >> 63); }
inline int64_t unzigzag(uint64_t v) { return int64_t(v >> 1) ^ -int64_t(v & 1); }

class ByteWriter {
 public:
  void clear() { size_ = 0; }
  size_t size() const { return size_; }
  const uint8_t* data() const { return data_.get(); }
  std::string_view view() const { return {reinterpret_cast<const char*>(data_.get()), size_}; }

  void u8(uint8_t v) {
    reserve(1);
    data_[size_++] = v;
  }
  void varint(uint64_t v) {
    reserve(10);
    uint8_t* p = data_.get() + size_;
    while (v >= 0x80) {
      *p++ = uint8_t(v) | 0x80;
      v >>= 7;
    }
    *p++ = uint8_t(v);
    size_ = size_t(p - data_.get());
  }
  void svarint(int64_t v) { varint(zigzag(v)); }
  void u32(uint32_t v) { raw(&v, sizeof v); }
  void u64(uint64_t v) { raw(&v, sizeof v); }
  void raw(const void* p, size_t n) {
    reserve(n);
    if (n) memcpy(data_.get() + size_, p, n);
    size_ += n;
  }
  void bytes(std::string_view s) { raw(s.data(), s.size()); }
  void text(std::string_view s) {
    varint(s.size());
    bytes(s);
  }
  void overwrite(size_t at, std::string_view s) { memcpy(data_.get() + at, s.data(), s.size()); }
  void reserve(size_t more) {
    if (size_ + more > capacity_) grow(more);
  }

 private:
  void grow(size_t more) {
    size_t wanted = (size_ + more) * 2 < 256 ? 256 : (size_ + more) * 2;
    std::unique_ptr<uint8_t[]> bigger(new uint8_t[wanted]);
    if (size_) memcpy(bigger.get(), data_.get(), size_);
    data_ = std::move(bigger);
    capacity_ = wanted;
  }
  std::unique_ptr<uint8_t[]> data_;
  size_t size_ = 0, capacity_ = 0;
};

class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::string_view s) : p_(reinterpret_cast<const uint8_t*>(s.data())), end_(p_ + s.size()) {}
  bool ok() const { return ok_; }
  size_t left() const { return size_t(end_ - p_); }
  void fail() {
    ok_ = false;
    p_ = end_;
  }

  uint8_t u8() {
    if (p_ == end_) return fail(), 0;
    return *p_++;
  }
  uint64_t varint() {
    if (p_ != end_ && *p_ < 0x80) return *p_++;
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && p_ != end_; shift += 7) {
      uint8_t b = *p_++;
      v |= uint64_t(b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
    return fail(), 0;
  }
  int64_t svarint() { return unzigzag(varint()); }
  uint32_t u32() { return word<uint32_t>(); }
  uint64_t u64() { return word<uint64_t>(); }
  std::string_view bytes(uint64_t n) {
    if (n > left()) return fail(), std::string_view();
    std::string_view s(reinterpret_cast<const char*>(p_), n);
    p_ += n;
    return s;
  }
  std::string_view text() { return bytes(varint()); }

 private:
  template <class T>
  T word() {
    if (left() < sizeof(T)) return fail(), T(0);
    T v;
    memcpy(&v, p_, sizeof v);
    p_ += sizeof v;
    return v;
  }
  const uint8_t* p_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool ok_ = true;
};

// Strings of 0 to 63 bits, packed from the least significant bit of each byte upwards.
class BitWriter {
 public:
  void clear() {
    out_.clear();
    acc_ = 0;
    used_ = 0;
  }
  void put(uint64_t v, unsigned bits) {
    if (used_ + bits > 64) {
      acc_ |= used_ < 64 ? v << used_ : 0;
      unsigned taken = 64 - used_;
      out_.u64(acc_);
      acc_ = taken < 64 ? v >> taken : 0;
      used_ = bits - taken;
    } else {
      if (bits) acc_ |= v << used_;
      used_ += bits;
    }
  }
  void finish() {
    for (unsigned done = 0; done < used_; done += 8) out_.u8(uint8_t(acc_ >> done));
    acc_ = 0;
    used_ = 0;
  }
  std::string_view view() const { return out_.view(); }  // after finish()

 private:
  ByteWriter out_;
  uint64_t acc_ = 0;
  unsigned used_ = 0;
};

class BitReader {
 public:
  BitReader() = default;
  explicit BitReader(std::string_view s) : p_(reinterpret_cast<const uint8_t*>(s.data())), bits_(uint64_t(s.size()) * 8) {}
  bool ok() const { return ok_; }
  uint64_t get(unsigned bits) {
    if (at_ + bits > bits_) {
      ok_ = false;
      return 0;
    }
    uint64_t byte = at_ / 8;
    unsigned shift = unsigned(at_ % 8);
    at_ += bits;
    uint64_t v = 0;
    if (byte + 8 <= bits_ / 8) {
      memcpy(&v, p_ + byte, 8);
      v >>= shift;
      if (shift + bits > 64) v |= uint64_t(p_[byte + 8]) << (64 - shift);
    } else {
      for (unsigned i = 0; i < shift + bits; i += 8) {
        uint64_t b = p_[byte + i / 8];
        v |= i >= shift ? b << (i - shift) : b >> (shift - i);
      }
    }
    return bits < 64 ? v & ((uint64_t(1) << bits) - 1) : v;
  }

 private:
  const uint8_t* p_ = nullptr;
  uint64_t bits_ = 0, at_ = 0;
  bool ok_ = true;
};

}  // namespace fsr
