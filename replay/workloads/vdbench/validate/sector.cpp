// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/sector.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "util/clock_ns.hpp"
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

namespace {

constexpr size_t kSectorWord = 8;

std::string hex(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i != 0 && i % kSectorWord == 0 ? " " : "", static_cast<unsigned char>(bytes[i]));
  return text;
}

// Returns the octets that can be printed, and a point in place of others.
std::string printable(std::string_view bytes) {
  std::string text;
  for (char c : bytes) text += c > ' ' && c <= '~' ? c : '.';
  return text;
}

}  // namespace

std::string sector_text(std::string_view found, const SectorMark& expected, uint64_t at) {
  std::array<char, kSector> whole;
  write_sectors(whole.data(), kSector, expected);
  const std::string_view wanted(whole.data(), kSector);
  // Without the time of the last write, its writer is not known either, and the checksum can't be compared.
  auto is_unknown = [&](size_t word) {
    return expected.time == 0 && (word == kTimeAt || word == kSumAt || (word >= kThreadAt && word < kPatternAt));
  };
  std::string text = fmt::format("  sector at byte {} ({:#x}), LBA {} of {} bytes\n", at, at, at / kSector, kSector);
  std::string head;
  for (size_t word = 0; word < kPatternAt; word += kSectorWord)
    head += (word ? " " : "") + (is_unknown(word) ? std::string(2 * kSectorWord, '.') : hex(wanted.substr(word, kSectorWord)));
  text += fmt::format("  header expected: {}\n  header found:    {}\n", head, hex(found.substr(0, kPatternAt)));
  text += "  header: offset, time in ns since 1970, key, owner, thread and rank, RD; words of 8 octets, the lowest first\n";
  text += fmt::format("  {:<6}  {:<16}  {:<16}  {}\n", "octet", "expected", "found", "as characters");
  size_t same = 0, unknown = 0;
  for (size_t word = 0; word < kSector; word += kSectorWord) {
    const std::string_view is = found.substr(word, kSectorWord), should = wanted.substr(word, kSectorWord);
    if (is_unknown(word))
      ++unknown;
    else if (is == should)
      ++same;
    else
      text += fmt::format("  {:<6}  {}  {}  {} {}\n", word, hex(should), hex(is), printable(should), printable(is));
  }
  return text +
         fmt::format("  {} of {} words are as written{}\n", same, kSector / kSectorWord,
                     unknown ? ", those of time, writer and checksum are not compared" : "") +
         "  the sector:\n" + dump_text(found, at);
}

std::string dump_text(std::string_view data, uint64_t at) {
  constexpr size_t kLine = 2 * kSectorWord;
  std::string text;
  bool same = false;
  for (size_t line = 0; line < data.size(); line += kLine) {
    const std::string_view its = data.substr(line, kLine);
    if (line && its == data.substr(line - kLine, kLine)) {
      if (!std::exchange(same, true)) text += "  *\n";
      continue;
    }
    same = false;
    text += fmt::format("  {:012x}  {:<33}  {}\n", at + line, hex(its), printable(its));
  }
  return text;
}

std::string wall_text(int64_t wall) {
  return fmt::format("{:%m/%d %H:%M:%S}.{:03}", fmt::localtime(time_t(wall / kSecond)), wall % kSecond / 1'000'000);
}

std::string kind_text(std::string_view kind) {
  if (kind == "misplaced write") return "the content was written for another place or another file";
  if (kind == "foreign data") return "the content is not from data validation: another program wrote here";
  if (kind == "damaged data") return "bits of a written sector have changed";
  if (kind == "torn write") return "only a part of the last write is here";
  return "the content is older than the last write, which storage has dropped or rolled back";
}

}  // namespace fsr::vdbench
