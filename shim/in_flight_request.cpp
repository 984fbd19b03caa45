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
std::list<Slot>& places() {
  static std::list<Slot>& all = *new std::list<Slot>;  // threads may be at work when statics are destroyed
  return all;
}

class OwnPlace {
 public:
  OwnPlace() {
    std::lock_guard lock(g_mutex);
    at_ = places().emplace(places().end(), gettid());
  }
  ~OwnPlace() {
    std::lock_guard lock(g_mutex);
    places().erase(at_);
  }
  Slot& operator*() { return *at_; }

 private:
  std::list<Slot>::iterator at_;
};

Slot& own_slot() {
  thread_local OwnPlace place;
  return *place;
}

}  // namespace

void note_request(OpKind kind, pid_t caller) {
  Slot& place = own_slot();
  place.kind.store(kind, std::memory_order_relaxed);
  place.caller.store(caller, std::memory_order_relaxed);
  place.since.store(coarse_now(), std::memory_order_release);
}

void note_answered() { own_slot().since.store(0, std::memory_order_relaxed); }

std::vector<InFlightRequest> under_way_since(int64_t before) {
  std::vector<InFlightRequest> found;
  {
    std::lock_guard lock(g_mutex);
    for (const Slot& place : places())
      if (const int64_t since = place.since.load(std::memory_order_acquire); since != 0 && since < before)
        found.push_back(
            {place.kind.load(std::memory_order_relaxed), place.caller.load(std::memory_order_relaxed), place.thread, since});
  }
  std::sort(found.begin(), found.end(), [](const InFlightRequest& a, const InFlightRequest& b) { return a.since < b.since; });
  return found;
}

}  // namespace fsr::shim
