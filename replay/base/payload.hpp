// SPDX-License-Identifier: Apache-2.0
// Data that is written if the trace has no content: pseudo-random bytes that cost nothing to generate. They neither compress nor
// repeat from block to block, and are always the same for an offset in an object. All threads use one payload. A server that
// looks for equal data at any offset and of any length does find some, because the bytes repeat after kPeriod.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "op.hpp"

namespace fsr {

class Payload {
 public:
  static const Payload& shared();
  // Returns `length` bytes of `object` at `offset`. More than kDirect bytes are copied to `scratch`, and valid while `scratch`
  // is.
  std::string_view get(ObjectId object, uint64_t offset, size_t length, std::string& scratch) const;

  static constexpr size_t kDirect = 1 << 20;
  std::string_view get(ObjectId object, uint64_t offset, size_t length) const;  // `length`: at most kDirect; valid for ever

 private:
  Payload();

  // Not a multiple of a block size, so that blocks of 4 KiB repeat only after 64 GiB.
  static constexpr size_t kPeriod = (16 << 20) + 7;
  std::unique_ptr<char[]> bytes_;
};

}  // namespace fsr
