// SPDX-License-Identifier: Apache-2.0
// A serving thread's knowledge of callers, by their thread ids. An entry is trusted for a limited time, because the id may be
// reused. The time grows each time the entry is confirmed. One thread.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "entry_cache.hpp"

namespace fsr::shim {

template <class Value>
class ThreadCache {
 public:
  // `most_trust`: longest time, ns, for which an entry is trusted.
  explicit ThreadCache(int64_t most_trust = 1'000'000'000) : most_trust_(most_trust) {}
  // Returns the entry of a thread, valid until the next keep(). Null: there is none that is still trusted.
  const Value* find(pid_t tid) const {
    const Known& slot = slots_[size_t(tid) % slots_.size()];
    return slot.tid == tid && coarse_now() < slot.until ? &slot.value : nullptr;
  }
  const Value& keep(pid_t tid, Value value) {
    Known& slot = slots_[size_t(tid) % slots_.size()];
    const int64_t trust = slot.tid == tid ? std::min(slot.trust * 2, most_trust_) : kFirstTrust;
    slot = {tid, coarse_now() + trust, trust, std::move(value)};
    return slot.value;
  }

 private:
  static constexpr int64_t kFirstTrust = 4'000'000;  // ns
  struct Known {
    pid_t tid = 0;
    int64_t until = 0, trust = 0;
    Value value{};
  };
  const int64_t most_trust_;
  std::array<Known, 256> slots_;
};

}  // namespace fsr::shim
