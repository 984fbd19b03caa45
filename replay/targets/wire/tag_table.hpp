// SPDX-License-Identifier: Apache-2.0
// Tags of requests under way: a slot number in the low bits, found without a search, and above it a counter that makes a late or
// invented reply miss. One thread.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "targets/wire/exchange.hpp"

namespace fsr::wire {

class TagTable {
 public:
  // `seed`: where the counter starts. A server that remembers requests by tag must not take this run's for an earlier one's.
  TagTable(unsigned slots, unsigned tag_bits, uint32_t seed)
      : slot_bits_(unsigned(std::bit_width(slots - 1))),
        mask_(tag_bits >= 32 ? UINT32_MAX : (1u << tag_bits) - 1),
        counter_(seed),
        slots_(slots, nullptr) {
    for (unsigned i = slots; i-- > 0;) free_.push_back(i);
  }

  bool full() const { return free_.empty(); }
  void add(Exchange* x) {  // not when full
    uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = x;
    x->tag_ = ((counter_++ << slot_bits_) | slot) & mask_;
  }
  // With a tag that add() never gives; one at a time.
  void add_fixed(Exchange* x, uint32_t tag) {
    fixed_ = x;
    x->tag_ = tag;
  }
  Exchange* find(uint32_t tag) const {
    if (fixed_ && fixed_->tag_ == tag) return fixed_;
    uint32_t slot = slot_of(tag);
    Exchange* x = slot < slots_.size() ? slots_[slot] : nullptr;
    return x && x->tag_ == tag ? x : nullptr;
  }
  void remove(const Exchange* x) {
    if (x == fixed_) {
      fixed_ = nullptr;
      return;
    }
    slots_[slot_of(x->tag_)] = nullptr;
    free_.push_back(slot_of(x->tag_));
  }

 private:
  uint32_t slot_of(uint32_t tag) const { return tag & ((1u << slot_bits_) - 1); }

  const unsigned slot_bits_;
  const uint32_t mask_;
  uint32_t counter_;
  std::vector<Exchange*> slots_;
  Exchange* fixed_ = nullptr;
  std::vector<uint32_t> free_;
};

}  // namespace fsr::wire
