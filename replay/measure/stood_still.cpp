// SPDX-License-Identifier: Apache-2.0
#include "measure/stood_still.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>

#include "trace/bytes.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

struct Sums {
  int64_t stood = 0, lasted = 0;  // ns
  std::string rank;               // empty: this process
  double share() const { return lasted > 0 ? double(stood) / double(lasted) : 0; }
};

std::mutex mutex;
Sums sums;

}  // namespace

std::string stood_still_text(int64_t ns) {
  return fmt::format("the load generator itself stood still for {}: stopped, or without a processor", format_duration(ns));
}

bool steals(int64_t stolen, int64_t elapsed, double share) {
  constexpr int64_t kSure = 50'000'000;  // ns: five ticks
  return stolen >= kSure && double(stolen) > double(elapsed) * share;
}

std::string stolen_text(int64_t stolen, int64_t elapsed) {
  return fmt::format("the host of this virtual machine took {:.0f} % of the processors' time away (steal)",
                     elapsed > 0 ? 100 * double(stolen) / double(elapsed) : 0);
}

void add_stood_still(int64_t stood, int64_t lasted) {
  const std::lock_guard lock(mutex);
  sums.stood += stood;
  sums.lasted += lasted;
}

std::string taken_stood_still() {
  const std::lock_guard lock(mutex);
  ByteWriter out;
  out.svarint(sums.stood);
  out.svarint(sums.lasted);
  sums = {};
  return std::string(out.view());
}

void stood_still_of_rank(const std::string& saved, const std::string& rank) {
  ByteReader in(saved);
  Sums other;
  other.stood = in.svarint();
  other.lasted = in.svarint();
  other.rank = rank;
  const std::lock_guard lock(mutex);
  if (in.ok() && other.share() > sums.share()) sums = other;
}

int print_stood_still(const char* program, int status) {
  const std::lock_guard lock(mutex);
  if (sums.stood == 0) return status;
  fmt::print(stderr, "{}: {}{}\n", program, sums.rank.empty() ? "" : sums.rank + ": ", stood_still_text(sums.stood));
  return status == 0 && sums.share() > kMostStoodStill ? 1 : status;
}

}  // namespace fsr
