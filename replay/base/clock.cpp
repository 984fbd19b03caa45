// SPDX-License-Identifier: Apache-2.0
#include "clock.hpp"
#include "util/clock_ns.hpp"

#include <time.h>

#include <algorithm>

namespace fsr {

namespace {

constexpr int64_t kGrace = 1'000'000'000;    // ns that a wait lasts at least, after which a stop signal ends it
constexpr int64_t kLookEvery = 100'000'000;  // ns between checks for a stop signal

}  // namespace

bool Clock::given_up(int64_t begun) { return stop_ && stop_->load() > 0 && now() >= begun + kGrace; }

int64_t Clock::look_again(int64_t deadline) { return stop_ ? std::min(deadline, now() + kLookEvery) : deadline; }

int64_t MonotonicClock::now() { return clock_ns(CLOCK_MONOTONIC); }

}  // namespace fsr
