// SPDX-License-Identifier: Apache-2.0
// What is written where the content was not captured: pseudo-random bytes that neither compress nor repeat from block to block,
// the same for the same place of the same object, and free to produce. All threads share one, which stays. A server that looks
// for equal blocks of whatever size at whatever place finds some: there are no more bytes than these.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "op.hpp"

namespace fsr {

class Payload {
 public:
  static const Payload& shared();
  // `length` bytes of `object` at `offset`. Beyond kDirect they are put together in `scratch`, whose storage they then live in.
  std::string_view get(ObjectId object, uint64_t offset, size_t length, std::string& scratch) const;

  static constexpr size_t kDirect = 1 << 20;
  std::string_view get(ObjectId object, uint64_t offset, size_t length) const;  // at most kDirect, which stay

 private:
  Payload();

  // No multiple of a block size, so that blocks of 4 KiB repeat only after 64 GiB.
  static constexpr size_t kPeriod = (16 << 20) + 7;
  std::unique_ptr<char[]> bytes_;
};

}  // namespace fsr
