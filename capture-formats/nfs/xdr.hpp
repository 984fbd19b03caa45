// SPDX-License-Identifier: Apache-2.0
// XDR (RFC 4506), as much of it as ONC RPC and NFS need: big-endian, everything a multiple of four bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace fsr::nfs {

// Appends to a buffer that it does not own.
class XdrEncoder {
 public:
  explicit XdrEncoder(std::vector<uint8_t>& out) : out_(out) {}

  void u32(uint32_t v) {
    uint8_t b[4] = {uint8_t(v >> 24), uint8_t(v >> 16), uint8_t(v >> 8), uint8_t(v)};
    out_.insert(out_.end(), b, b + 4);
  }
  void u64(uint64_t v) {
    u32(uint32_t(v >> 32));
    u32(uint32_t(v));
  }
  void boolean(bool v) { u32(v ? 1 : 0); }
  void opaque(std::string_view bytes) {  // variable length
    u32(uint32_t(bytes.size()));
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    out_.resize(out_.size() + padding(bytes.size()), 0);
  }

  static size_t padding(size_t bytes) { return (4 - bytes % 4) % 4; }

 private:
  std::vector<uint8_t>& out_;
};

// Reads untrusted bytes: after anything that does not fit, everything reads as zero or empty and ok() is false. Strings are views
// into the input.
class XdrDecoder {
 public:
  explicit XdrDecoder(std::span<const uint8_t> in) : next_(in.data()), left_(in.size()) {}

  bool ok() const { return ok_; }
  size_t left() const { return left_; }
  void fail() {
    ok_ = false;
    left_ = 0;
  }

  uint32_t u32() {
    const uint8_t* b = take(4);
    return b ? uint32_t(b[0]) << 24 | uint32_t(b[1]) << 16 | uint32_t(b[2]) << 8 | b[3] : 0;
  }
  uint64_t u64() {
    uint64_t high = u32();
    return high << 32 | u32();
  }
  bool boolean() {
    uint32_t v = u32();
    if (v > 1) fail();
    return v == 1;
  }
  std::string_view opaque(size_t longest) {  // variable length
    size_t size = u32();
    if (size > longest) fail();
    return fixed(ok_ ? size : 0);
  }
  std::string_view fixed(size_t size) {
    size_t padded = size + XdrEncoder::padding(size);
    const uint8_t* b = take(padded);
    return b ? std::string_view(reinterpret_cast<const char*>(b), size) : std::string_view();
  }
  void skip(size_t bytes) { take(bytes); }

 private:
  const uint8_t* take(size_t bytes) {
    if (bytes > left_) {
      fail();
      return nullptr;
    }
    const uint8_t* b = next_;
    next_ += bytes;
    left_ -= bytes;
    return b;
  }

  const uint8_t* next_;
  size_t left_;
  bool ok_ = true;
};

}  // namespace fsr::nfs
