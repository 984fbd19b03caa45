// SPDX-License-Identifier: Apache-2.0
// The number that each file has in the trace, for as long as the capture lasts. A file takes 12 bytes, with free slots 15 to 30.
// The table has marks: 64 bits of a hash of the file's identity. Its 256 parts grow one by one, so that growing copies only a
// small part at a time. Two files of 50 million have the same mark once in 10,000 captures. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "op.hpp"

namespace fsr::shim {

class Identities {
 public:
  // Returns the number of `mark`. If the mark has none yet, this becomes `fresh`. Numbers have 40 bits.
  ObjectId find_or_add(uint64_t mark, ObjectId fresh);
  void erase(uint64_t mark);
  size_t size() const;
  size_t memory() const;  // bytes

 private:
  class Part {
   public:
    ObjectId find_or_add(uint64_t mark, ObjectId fresh);
    void erase(uint64_t mark);
    size_t size() const { return used_; }
    size_t memory() const { return slots_.capacity() * sizeof(Slot); }

   private:
    // 56 bits of the mark (the part stands for the others) and 40 of the number, which is 0 in an empty slot.
    struct Slot {
      uint32_t low = 0;
      uint32_t both = 0;
      uint32_t number = 0;
      ObjectId id() const { return ObjectId(both & 0xff) << 32 | number; }
      uint64_t mark() const { return uint64_t(both >> 8) << 32 | low; }
    };
    size_t slot_of(uint64_t mark) const;  // slot of the mark, or the empty slot for it
    void grow();

    std::vector<Slot> slots_;  // their number is a power of two
    size_t used_ = 0;
  };
  std::array<Part, 256> parts_;
};

}  // namespace fsr::shim
