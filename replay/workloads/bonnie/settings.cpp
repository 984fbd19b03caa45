// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace fsr::bonnie {

namespace {

constexpr int64_t kMost = int64_t(1) << 40;

std::vector<std::string> parts_of(const std::string& text, size_t most) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  if (parts.size() > most) throw std::invalid_argument(fmt::format("'{}': at most {} numbers are expected", text, most));
  return parts;
}

// Parses a number, which may have one letter of `units`. Each unit is 1024 times the one before.
int64_t number(const std::string& text, const char* units) {
  char* end;
  const long long value = strtoll(text.c_str(), &end, 10);
  const char* unit = *end ? strchr(units, tolower(*end)) : nullptr;
  const bool whole = end != text.c_str() && (!*end || (unit && end[1] == '\0'));
  const int64_t factor = unit ? int64_t(1) << (10 * (unit - units + 1)) : 1;
  if (!whole || value < -2 || value > kMost / factor)
    throw std::invalid_argument(
        fmt::format("'{}': expected a number{}", text,
                    *units ? fmt::format(", or one with a unit ({})", fmt::join(std::string_view(units), ", ")) : ""));
  return value * factor;
}

bool is_chunk(int64_t bytes) { return bytes >= 256 && bytes <= kMiB && std::has_single_bit(uint64_t(bytes)); }

}  // namespace

void Settings::take_big(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text, 4);
  size = number(parts[0], "gt");
  if (parts.size() > 1) chunk = number(parts[1], "k");
  if (parts.size() > 2) seeks = number(parts[2], "k");
  if (parts.size() > 3) seekers = number(parts[3], "");
}

void Settings::take_small(const std::string& text) {
  const std::vector<std::string> parts = parts_of(text, 5);
  files = number(parts[0], "m");
  if (parts.size() > 1) largest = number(parts[1], "kmg");
  if (parts.size() > 2) smallest = number(parts[2], "kmg");
  if (parts.size() > 3) directories = number(parts[3], "k");
  if (parts.size() > 4) file_chunk = number(parts[4], "kmg");
}

void Settings::take_bytes(const std::string& text) { bytes_size = text.empty() ? 0 : number(text, ""); }

void Settings::size_by_memory(int64_t mebibytes) {
  constexpr int64_t kLeast = 300, kGiB = 1024;
  size = std::max(kLeast, 2 * mebibytes);
  if (size % kGiB > kGiB / 2) size += kGiB - size % kGiB;  // more than half a GiB is rounded up to a GiB
}

void Settings::check(int64_t memory) const {
  if (size < 0 || files < 0 || (size == 0 && files == 0))
    throw std::invalid_argument("nothing to do: -s and -n are both 0 or less");
  if (!is_chunk(chunk) || !is_chunk(file_chunk))
    throw std::invalid_argument("-s, -n: expected chunks of 256 to 1048576 bytes, a power of 2");
  if (seeks < 0 || seeks > (1 << 28) || seekers < 1 || seekers > 1000)
    throw std::invalid_argument("-s: expected 0 to 268435456 seeks, by 1 to 1000 seekers");
  if (largest >= 0 && (smallest < 0 || largest < smallest))
    throw std::invalid_argument("-n: expected a largest file that is not smaller than the smallest");
  if (directories < 1 || directories > 99'999) throw std::invalid_argument("-n: expected 1 to 99999 directories");
  if (files > (1 << 20)) throw std::invalid_argument("-n: expected at most 1048576 times 1024 files");
  if (size > 0 && memory > 0 && size < 2 * memory)
    throw std::invalid_argument(fmt::format(
        "File size should be double RAM for good results, RAM is {}M (-r 0 asks for less at one's own risk)", memory));
}

}  // namespace fsr::bonnie
