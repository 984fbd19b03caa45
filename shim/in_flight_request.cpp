// SPDX-License-Identifier: Apache-2.0
#include "in_flight_request.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>

#include "entry_cache.hpp"

namespace fsr::shim {

namespace {

struct alignas(64) Slot {
  explicit Slot(pid_t thread_arg) : thread(thread_arg) {}
  const pid_t thread;
  std::atomic<int64_t> since{0};  // 0: nothing
  std::atomic<OpKind> kind{};
  std::atomic<pid_t> caller{0};
};

std::mutex g_mutex;
std::list<Slot>& slots() {
  static std::list<Slot>& all = *new std::list<Slot>;  // threads may be at work when statics are destroyed
  return all;
}

class OwnSlot {
 public:
  OwnSlot() {
    std::lock_guard lock(g_mutex);
    at_ = slots().emplace(slots().end(), gettid());
  }
  ~OwnSlot() {
    std::lock_guard lock(g_mutex);
    slots().erase(at_);
  }
  Slot& operator*() { return *at_; }

 private:
  std::list<Slot>::iterator at_;
};

Slot& own_slot() {
  thread_local OwnSlot slot;
  return *slot;
}

}  // namespace

void note_request(OpKind kind, pid_t caller) {
  Slot& slot = own_slot();
  slot.kind.store(kind, std::memory_order_relaxed);
  slot.caller.store(caller, std::memory_order_relaxed);
  slot.since.store(coarse_now(), std::memory_order_release);
}

void note_answered() { own_slot().since.store(0, std::memory_order_relaxed); }

std::vector<InFlightRequest> in_flight_since(int64_t before) {
  std::vector<InFlightRequest> found;
  {
    std::lock_guard lock(g_mutex);
    for (const Slot& slot : slots())
      if (const int64_t since = slot.since.load(std::memory_order_acquire); since != 0 && since < before)
        found.push_back(
            {slot.kind.load(std::memory_order_relaxed), slot.caller.load(std::memory_order_relaxed), slot.thread, since});
  }
  std::sort(found.begin(), found.end(), [](const InFlightRequest& a, const InFlightRequest& b) { return a.since < b.since; });
  return found;
}

}  // namespace fsr::shim
