// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/sector_text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "util/clock_ns.hpp"

namespace fsr::vdbench {

namespace {

constexpr size_t kSectorWord = 8, kSectorHead = 56, kTimeWord = 8, kWriterWord = 32, kSumWord = 504;

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
    return expected.time == 0 && (word == kTimeWord || word == kSumWord || (word >= kWriterWord && word < kSectorHead));
  };
  std::string text = fmt::format("  sector at byte {} ({:#x}), LBA {} of {} bytes\n", at, at, at / kSector, kSector);
  std::string head;
  for (size_t word = 0; word < kSectorHead; word += kSectorWord)
    head += (word ? " " : "") + (is_unknown(word) ? std::string(2 * kSectorWord, '.') : hex(wanted.substr(word, kSectorWord)));
  text += fmt::format("  header expected: {}\n  header found:    {}\n", head, hex(found.substr(0, kSectorHead)));
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
