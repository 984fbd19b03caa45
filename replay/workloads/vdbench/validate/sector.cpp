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

constexpr size_t kTime = 8, kKey = 16, kOwner = 24, kThread = 32, kRank = 36, kRun = 40, kPattern = 56, kSum = 504;
constexpr size_t kPatternSize = kSum - kPattern;
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

uint64_t sum_of(const char* sector) { return XXH3_64bits(sector, kSum); }

}  // namespace

std::string writer_text(std::string_view run, uint32_t rank, uint32_t thread) {
  return fmt::format("rd={} {}thread={}", run, rank ? fmt::format("rank={} ", rank) : "", thread);
}

void write_sectors(char* to, uint64_t length, const SectorMark& mark) {
  char head[kPattern] = {};
  memcpy(head + kTime, &mark.time, sizeof mark.time);
  head[kKey] = char(mark.key);
  memcpy(head + kOwner, mark.owner.data(), std::min(mark.owner.size(), kOwnerSize));
  memcpy(head + kThread, &mark.thread, sizeof mark.thread);
  memcpy(head + kRank, &mark.rank, sizeof mark.rank);
  memcpy(head + kRun, mark.run.data(), std::min(mark.run.size(), kRunSize));
  for (uint64_t at = 0; at < length; at += kSector) {
    const uint64_t offset = mark.offset + at;
    memcpy(head, &offset, sizeof offset);
    memcpy(to + at, head, kPattern);
    memcpy(to + at + kPattern, patterns().data() + (offset / kSector * 61 + mark.key * 977) * 8 % kPatterns, kPatternSize);
    const uint64_t sum = sum_of(to + at);
    memcpy(to + at + kSum, &sum, sizeof sum);
  }
}

SectorState look_at_sector(const char* sector, const SectorMark& expected, SectorMark* mark) {
  memcpy(&mark->offset, sector, sizeof mark->offset);
  memcpy(&mark->time, sector + kTime, sizeof mark->time);
  mark->key = uint8_t(sector[kKey]);
  mark->owner.assign(sector + kOwner, strnlen(sector + kOwner, kOwnerSize));
  memcpy(&mark->thread, sector + kThread, sizeof mark->thread);
  memcpy(&mark->rank, sector + kRank, sizeof mark->rank);
  mark->run.assign(sector + kRun, strnlen(sector + kRun, kRunSize));
  uint64_t sum;
  memcpy(&sum, sector + kSum, sizeof sum);
  if (sum == sum_of(sector)) return SectorState::written;
  if (std::all_of(sector, sector + kSector, [](char c) { return c == 0; })) return SectorState::zeros;
  const bool ours = mark->offset == expected.offset || (mark->owner == expected.owner && mark->key <= kMostKey);
  return ours ? SectorState::damaged : SectorState::foreign;
}

}  // namespace fsr::vdbench
