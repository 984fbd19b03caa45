// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/sector.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "util/random.hpp"

namespace fsr::vdbench {

namespace {

constexpr size_t kTimeAt = 8, kKeyAt = 16, kOwnerAt = 24, kThreadAt = 32, kRankAt = 36, kRunAt = 40, kPatternAt = 56,
                 kSumAt = 504;
constexpr size_t kPatternSize = kSumAt - kPatternAt;
constexpr size_t kPatterns = 65'536;

using Patterns = std::array<char, kPatterns + kPatternSize>;

const Patterns& patterns() {
  static const Patterns bytes = [] {
    Patterns made;
    Random random(1);
    for (size_t at = 0; at + 8 <= made.size(); at += 8) {
      const uint64_t word = random.next();
      memcpy(made.data() + at, &word, sizeof word);
    }
    return made;
  }();
  return bytes;
}

uint64_t sum_of(const char* sector) { return XXH3_64bits(sector, kSumAt); }

}  // namespace

std::string writer_text(std::string_view run, uint32_t rank, uint32_t thread) {
  return fmt::format("rd={} {}thread={}", run, rank ? fmt::format("rank={} ", rank) : "", thread);
}

void write_sectors(char* to, uint64_t length, const SectorMark& mark) {
  char head[kPatternAt] = {};
  memcpy(head + kTimeAt, &mark.time, sizeof mark.time);
  head[kKeyAt] = char(mark.key);
  memcpy(head + kOwnerAt, mark.owner.data(), std::min(mark.owner.size(), kOwnerSize));
  memcpy(head + kThreadAt, &mark.thread, sizeof mark.thread);
  memcpy(head + kRankAt, &mark.rank, sizeof mark.rank);
  memcpy(head + kRunAt, mark.run.data(), std::min(mark.run.size(), kRunSize));
  for (uint64_t at = 0; at < length; at += kSector) {
    const uint64_t offset = mark.offset + at;
    memcpy(head, &offset, sizeof offset);
    memcpy(to + at, head, kPatternAt);
    memcpy(to + at + kPatternAt, patterns().data() + (offset / kSector * 61 + mark.key * 977) * 8 % kPatterns, kPatternSize);
    const uint64_t sum = sum_of(to + at);
    memcpy(to + at + kSumAt, &sum, sizeof sum);
  }
}

SectorState look_at_sector(const char* sector, const SectorMark& expected, SectorMark* mark) {
  memcpy(&mark->offset, sector, sizeof mark->offset);
  memcpy(&mark->time, sector + kTimeAt, sizeof mark->time);
  mark->key = uint8_t(sector[kKeyAt]);
  mark->owner.assign(sector + kOwnerAt, strnlen(sector + kOwnerAt, kOwnerSize));
  memcpy(&mark->thread, sector + kThreadAt, sizeof mark->thread);
  memcpy(&mark->rank, sector + kRankAt, sizeof mark->rank);
  mark->run.assign(sector + kRunAt, strnlen(sector + kRunAt, kRunSize));
  uint64_t sum;
  memcpy(&sum, sector + kSumAt, sizeof sum);
  if (sum == sum_of(sector)) return SectorState::written;
  if (std::all_of(sector, sector + kSector, [](char c) { return c == 0; })) return SectorState::zeros;
  const bool ours = mark->offset == expected.offset || (mark->owner == expected.owner && mark->key <= kMostKey);
  return ours ? SectorState::damaged : SectorState::foreign;
}

}  // namespace fsr::vdbench
