// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/file_names.hpp"

#include <charconv>
#include <utility>

namespace fsr::bonnie {

namespace {

constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr int32_t kMostRandom = 12;
constexpr uint32_t kDigits = 10;

// Writes the number as kDigits hexadecimal digits.
void write_digits(char* text, uint64_t number) {
  for (char* digit = text + kDigits; digit-- > text; number >>= 4) *digit = "0123456789abcdef"[number & 15];
}

}  // namespace

NameList make_names(Numbers& numbers, int64_t files, int64_t directories, bool random_first) {
  NameList names{std::make_unique_for_overwrite<char[]>(size_t(files) * (kDigits + kMostRandom)), {}};
  names.files.reserve(size_t(files));
  char* text = names.text.get();
  const int64_t share = files / directories;
  int64_t in_directory = 0;
  uint32_t directory = 0;
  for (int64_t i = 0; i < files; ++i) {
    const auto random = uint32_t(numbers.draw() % (kMostRandom + 1));
    char* const characters = random_first ? text : text + kDigits;
    for (char* c = characters; c < characters + random; ++c) *c = kCharacters[size_t(numbers.draw()) % kCharacters.size()];
    write_digits(random_first ? text + random : text, uint64_t(i));
    const uint32_t length = random + kDigits;
    names.files.push_back({.text = text, .number = uint32_t(i), .directory = directory, .length = length, .made = 0});
    text += length;
    // Each directory except the last gets one file more than its share, as in the original.
    if (++in_directory > share) {
      in_directory = 0;
      ++directory;
    }
  }
  return names;
}

void shuffle(Numbers& numbers, std::vector<NamedFile>& names) {
  for (NamedFile& name : names) std::swap(name, names[size_t(numbers.draw()) % names.size()]);
}

int64_t number_in(std::string_view name) {
  if (name.size() < kDigits) return -1;
  int64_t number;
  const auto [end, error] = std::from_chars(name.data(), name.data() + kDigits, number, 16);
  return error == std::errc() && end == name.data() + kDigits ? number : -1;
}

}  // namespace fsr::bonnie
