// SPDX-License-Identifier: Apache-2.0
#include "status_line.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "util/clock_ns.hpp"
#include "util/units.hpp"

namespace fsr {

constexpr int64_t kBarInterval = 100'000'000;  // ns

StatusLine::StatusLine(bool quiet, int64_t interval)
    : terminal_(isatty(STDERR_FILENO)),
      enabled_(!quiet && (terminal_ || interval)),
      interval_(interval),
      last_line_(clock_ns(CLOCK_MONOTONIC)) {}

StatusLine::~StatusLine() { clear(); }

void StatusLine::clear() {
  if (shown_) fputs("\r\x1b[K", stderr);
  shown_ = false;
}

bool StatusLine::due() const { return enabled_ && (terminal_ || clock_ns(CLOCK_MONOTONIC) - last_line_ >= interval_); }

void StatusLine::show(const std::string& text) {
  if (!due()) return;
  if (!terminal_) {
    last_line_ = clock_ns(CLOCK_MONOTONIC);
    fmt::print(stderr, "{}\n", text);
    return;
  }
  fmt::print(stderr, "\r\x1b[K{}", text);
  fflush(stderr);
  shown_ = true;
}

void StatusLine::bar(const char* label, uint64_t done, uint64_t total) {
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  if (!due() || (bar_ == label && now - last_bar_ < kBarInterval)) return;
  if (bar_ != label) bar_begun_ = now;
  bar_ = label;
  last_bar_ = now;
  const double share = total ? std::min(1.0, double(done) / double(total)) : 0;
  constexpr size_t kWidth = 30;
  const size_t full = size_t(share * kWidth);
  std::string text =
      fmt::format("{}  [{}{}] {:3.0f} %", label, std::string(full, '#'), std::string(kWidth - full, '.'), share * 100);
  if (const int64_t took = now - bar_begun_; share > 0 && took > 0)
    text += "  left " + format_duration(int64_t(double(took) * (1 - share) / share));
  show(text);
}

}  // namespace fsr
