// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/file_names.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace fsr::bonnie {

namespace {

constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr int32_t kMostRandom = 12;
constexpr size_t kDigits = 10;

}  // namespace

std::vector<NamedFile> make_names(Numbers& numbers, int64_t files, int64_t directories, bool random_first) {
  std::vector<NamedFile> names;
  names.reserve(size_t(files));
  const int64_t share = files / directories;
  int64_t in_directory = 0;
  uint32_t directory = 0;
  for (int64_t i = 0; i < files; ++i) {
    std::string characters(size_t(numbers.draw() % (kMostRandom + 1)), ' ');
    for (char& c : characters) c = kCharacters[size_t(numbers.draw()) % kCharacters.size()];
    const std::string number = fmt::format("{:010x}", i);
    names.push_back({random_first ? characters + number : number + characters, directory, uint32_t(i), false, kNoObject});
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
