// SPDX-License-Identifier: Apache-2.0
#include "live_status.hpp"

#include <unistd.h>

#include <cstdio>

#include "util/units.hpp"

namespace fsr::shim {

constexpr int64_t kInterval = 500'000'000;  // ns

LiveStatus::LiveStatus() : terminal_(isatty(2) == 1) {}

bool LiveStatus::due(int64_t time) const { return terminal_ && time - last_.time >= kInterval; }

void LiveStatus::show(const StatusSample& now) {
  double seconds = double(now.time - last_.time) / 1e9;
  if (!terminal_ || seconds <= 0) return;
  auto rate = uint64_t(double(now.operations - last_.operations) / seconds);
  double megabytes = double(now.data_bytes - last_.data_bytes) / seconds / 1e6;
  dprintf(STDERR_FILENO, "\r\033[K%s  %s op/s  %.1f MB/s  trace %s  ring %.0f %%%s", format_duration(now.time).c_str(),
          format_count(rate).c_str(), megabytes, format_size(now.trace_bytes).c_str(), now.ring_fill * 100,
          now.recording ? "" : "  NOT RECORDING");
  last_ = now;
  shown_ = true;
}

void LiveStatus::clear() {
  if (shown_) dprintf(STDERR_FILENO, "\r\033[K");
  shown_ = false;
}

}  // namespace fsr::shim
