// SPDX-License-Identifier: Apache-2.0
#include "status_line.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace fsr {

constexpr int64_t kBarInterval = 100'000'000;  // ns

StatusLine::StatusLine(bool quiet) : enabled_(!quiet && isatty(STDERR_FILENO)) {}

StatusLine::~StatusLine() { clear(); }

void StatusLine::clear() {
  if (shown_) fputs("\r\x1b[K", stderr);
  shown_ = false;
}

void StatusLine::show(const std::string& text) {
  if (!enabled_) return;
  fmt::print(stderr, "\r\x1b[K{}", text);
  fflush(stderr);
  shown_ = true;
}

void StatusLine::bar(const char* label, uint64_t done, uint64_t total) {
  if (!enabled_) return;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t ns = int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  if (last_bar_ != INT64_MIN && ns - last_bar_ < kBarInterval) return;
  last_bar_ = ns;
  double share = total ? std::min(1.0, double(done) / double(total)) : 0;
  constexpr size_t kWidth = 30;
  size_t full = size_t(share * kWidth);
  show(fmt::format("{}  [{}{}] {:3.0f} %", label, std::string(full, '#'), std::string(kWidth - full, '.'), share * 100));
}

}  // namespace fsr
