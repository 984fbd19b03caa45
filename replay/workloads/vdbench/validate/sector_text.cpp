// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/sector_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace fsr::vdbench {

namespace {

constexpr size_t kWord = 8, kHead = 32, kTimeAt = 8, kSumAt = 504;

std::string hex(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i != 0 && i % kWord == 0 ? " " : "", static_cast<unsigned char>(bytes[i]));
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
  // Without the time of the last write, neither the time nor the checksum can be compared.
  auto is_unknown = [&](size_t word) { return expected.time == 0 && (word == kTimeAt || word == kSumAt); };
  std::string text = fmt::format("  sector at byte {} ({:#x}), LBA {} of {} bytes\n", at, at, at / kSector, kSector);
  std::string head = hex(wanted.substr(0, kHead));
  if (expected.time == 0) head.replace(2 * kTimeAt + 1, 2 * kWord, 2 * kWord, '.');
  text += fmt::format("  header expected: {}\n  header found:    {}\n", head, hex(found.substr(0, kHead)));
  text += "  header: offset, time in ns since 1970, key, owner; each has 8 octets, the lowest first\n";
  text += fmt::format("  {:<6}  {:<16}  {:<16}  {}\n", "octet", "expected", "found", "as characters");
  size_t same = 0, unknown = 0;
  for (size_t word = 0; word < kSector; word += kWord) {
    const std::string_view is = found.substr(word, kWord), should = wanted.substr(word, kWord);
    if (is_unknown(word))
      ++unknown;
    else if (is == should)
      ++same;
    else
      text += fmt::format("  {:<6}  {}  {}  {} {}\n", word, hex(should), hex(is), printable(should), printable(is));
  }
  return text + fmt::format("  {} of {} words are as written{}\n", same, kSector / kWord,
                            unknown ? ", those of time and checksum are not compared" : "");
}

std::string kind_text(std::string_view kind) {
  if (kind == "misplaced write") return "the content was written for another place or another file";
  if (kind == "foreign data") return "the content is not from data validation: another program wrote here";
  if (kind == "damaged data") return "bits of a written sector have changed";
  if (kind == "torn write") return "only a part of the last write is here";
  return "the content is older than the last write, which storage has dropped or rolled back";
}

}  // namespace fsr::vdbench
