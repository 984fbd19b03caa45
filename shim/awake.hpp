// SPDX-License-Identifier: Apache-2.0
// Keeps the processors of the machine from sleeping while many requests come. A request and its answer then wait for no processor
// to wake up. Source: Documentation/power/pm_qos_interface.rst of Linux.
//
// One thread. The kernel lets the processors sleep again when the object, or its process, ends in whatever way.
#pragma once

#include <cstdint>
#include <string>

#include "util/unique_fd.hpp"

namespace fsr::shim {

class LatencyRequest {
 public:
  LatencyRequest();  // makes no request yet; errno tells why it can't
  bool possible() const { return bool(device_); }
  bool set(bool awake);  // false: the kernel refuses

 private:
  UniqueFd device_;
};

class Awake {
 public:
  static constexpr uint64_t kManyRequests = 1000;   // a second
  static constexpr int64_t kQuiet = 1'000'000'000;  // ns with fewer requests after which processors may sleep

  // Throws CaptureError if this process may not decide that. Call it before anything is mounted over the device.
  Awake();

  // Call this a few times a second. `requests`: all so far; `now`: ns on any clock that does not go back.
  void look(uint64_t requests, int64_t now);
  // Returns for how long processors could not sleep, ns.
  int64_t total(int64_t now) const { return total_ + (awake_ ? now - since_ : 0); }

 private:
  LatencyRequest request_;
  bool awake_ = false;
  int64_t since_ = 0, total_ = 0;  // ns; since_: the last change to awake
  int64_t looked_at_ = -1, busy_at_ = 0;
  uint64_t requests_then_ = 0;
};

}  // namespace fsr::shim
