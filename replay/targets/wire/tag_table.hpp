// SPDX-License-Identifier: Apache-2.0
// The tags of requests in flight. Tags count up, so that each is reused as late as possible. Otherwise a server that remembers
// requests by tag could take a new request for a repetition, and a late reply could match another request. The low bits of a tag
// are the request's slot, so that no search is needed. Used by one thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "targets/wire/exchange.hpp"
#include "util/check.hpp"

namespace fsr::wire {

class TagTable {
 public:
  // `seed`: the first tag, which should differ from run to run, because of servers that remember requests by tag.
  TagTable(unsigned slots, unsigned tag_bits, uint32_t seed)
      : most_(slots),
        mask_(tag_bits >= 32 ? UINT32_MAX : (1u << tag_bits) - 1),
        counter_(seed),
        slots_(2 * std::bit_ceil(std::min(slots, kFirstSlots))) {}

  bool full() const { return used_ == most_; }
  unsigned used() const { return used_; }
  void add(Exchange* x) {  // must not be called when full() is true
    FSR_CHECK(used_ < most_, "all " + std::to_string(most_) + " tags are in use");
    if (2 * (used_ + 1) > slots_.size()) grow();
    while (slot(counter_) || (counter_ & mask_) == mask_) ++counter_;
    x->tag_ = counter_++ & mask_;
    slot(x->tag_) = x;
    ++used_;
  }
  // Adds an exchange with a tag that add() never uses, such as all ones. One at a time.
  void add_fixed(Exchange* x, uint32_t tag) {
    FSR_CHECK(!fixed_, "tag " + std::to_string(tag) + " is in use");
    fixed_ = x;
    x->tag_ = tag;
  }
  Exchange* find(uint32_t tag) {
    if (fixed_ && fixed_->tag_ == tag) return fixed_;
    Exchange* x = slot(tag);
    return x && x->tag_ == tag ? x : nullptr;
  }
  void remove(const Exchange* x) {
    if (x == fixed_) {
      fixed_ = nullptr;
      return;
    }
    FSR_CHECK(used_ > 0 && slot(x->tag_) == x, "tag " + std::to_string(x->tag_) + " is another request's");
    slot(x->tag_) = nullptr;
    --used_;
  }

 private:
  static constexpr unsigned kFirstSlots = 8;  // few, because a target may have thousands of connections

  // Tags that had different slots in the smaller table have different ones in the larger table.
  void grow() {
    std::vector<Exchange*> old(2 * slots_.size());
    old.swap(slots_);
    for (Exchange* x : old)
      if (x) slot(x->tag_) = x;
  }
  Exchange*& slot(uint32_t tag) { return slots_[tag & (slots_.size() - 1)]; }

  const unsigned most_;
  const uint32_t mask_;
  uint32_t counter_;
  unsigned used_ = 0;
  std::vector<Exchange*> slots_;  // twice as many as requests, so that a free slot is near
  Exchange* fixed_ = nullptr;
};

}  // namespace fsr::wire
