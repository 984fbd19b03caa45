// SPDX-License-Identifier: Apache-2.0
#include "workloads/nfstest/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "workloads/stdio.hpp"

namespace fsr::nfstest {

namespace {

constexpr const char* kExpected = "expected u, m, M, b, s, K, R, n, S, f, o, d, c or v with its value, as in m256";
constexpr uint64_t kMostSizes = 1'000'000;
constexpr uint64_t kMostBytes = std::numeric_limits<int64_t>::max();

uint64_t number(const std::string& word) {
  uint64_t value = 0;
  const char *begin = word.data() + 1, *end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end || value == 0 || value > kMostBytes)
    throw std::invalid_argument(fmt::format("'{}': expected a whole number above 0 after '{}'", word, word[0]));
  return value;
}

bool flag(const std::string& word) {
  if (word.size() == 2 && (word[1] == '0' || word[1] == '1')) return word[1] == '1';
  throw std::invalid_argument(fmt::format("'{}': expected 0 or 1 after '{}'", word, word[0]));
}

char unit(const std::string& word) {
  if (word.size() == 2 && std::string_view("bKM").find(word[1]) != std::string_view::npos) return word[1];
  throw std::invalid_argument(fmt::format("'{}': expected the unit b, K or M after 'u'", word));
}

void take(Settings& s, const std::string& word) {
  if (word.size() < 2) throw std::invalid_argument(fmt::format("'{}': {}", word, kExpected));
  switch (word[0]) {
    case 'u':
      s.unit = unit(word);
      break;
    case 'm':
      s.least = number(word);
      break;
    case 'M':
      s.most = number(word);
      break;
    case 'b':
      s.buffer = number(word);
      break;
    case 's':
      s.step = number(word);
      break;
    case 'K':
      s.factor = number(word);
      break;
    case 'S':
      s.space = number(word);
      break;
    case 'R':
      s.repeat = number(word);
      break;
    case 'n':
      s.files = number(word);
      break;
    case 'f':
      s.folder = word.substr(1);
      break;
    case 'o':
      s.output = word.substr(1);
      break;
    case 'd':
      s.direct = flag(word);
      break;
    case 'c':
      s.check = flag(word);
      break;
    case 'v':
      s.verbose = flag(word);
      break;
    default:
      throw std::invalid_argument(fmt::format("'{}': {}", word, kExpected));
  }
}

// Throws if the product is not a number of bytes that a file system can count.
void check_product(const Settings& s, unsigned ranks) {
  uint64_t bytes = 1;
  for (uint64_t factor : {std::max(s.most, s.buffer), s.unit_bytes(), s.files, uint64_t(ranks)})
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > kMostBytes)
      throw std::invalid_argument(fmt::format("the files of all ranks: expected at most {} bytes together", kMostBytes));
}

}  // namespace

uint64_t Settings::unit_bytes() const { return unit == 'M' ? 1 << 20 : unit == 'K' ? 1 << 10 : 1; }

const char* Settings::unit_name() const { return unit == 'M' ? "Mb" : unit == 'K' ? "Kb" : "b"; }

uint64_t Settings::buffer_bytes(uint64_t size) const {
  const uint64_t used = buffer ? std::min(buffer, size) : size;
  return std::max(used * unit_bytes(), uint64_t(Stdio::kBuffer));
}

std::vector<uint64_t> Settings::sizes() const {
  std::vector<uint64_t> all;
  for (uint64_t size = least; size < most;) {
    all.push_back(size);
    size = factor == 0 ? size + step : size > most / factor ? most : size * factor;
  }
  all.push_back(most);
  return all;
}

Settings parse(const std::vector<std::string>& words, unsigned ranks) {
  Settings s;
  for (const std::string& word : words) take(s, word);
  if (s.most == 0) s.most = s.least;
  if (s.step == 0) s.step = s.least;
  if (s.files == 0) s.files = ranks;
  if (s.most < s.least) throw std::invalid_argument(fmt::format("M{}: expected a largest size of at least m{}", s.most, s.least));
  if (s.factor == 1) throw std::invalid_argument("K1: expected a factor of 2 or more, because sizes must grow");
  check_product(s, ranks);
  if (s.factor == 0 && (s.most - s.least) / s.step > kMostSizes)
    throw std::invalid_argument(
        fmt::format("s{}: expected a step that makes at most {} sizes from m{} to M{}", s.step, kMostSizes, s.least, s.most));
  return s;
}

}  // namespace fsr::nfstest
