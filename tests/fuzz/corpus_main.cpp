// SPDX-License-Identifier: Apache-2.0
// Stands in for libFuzzer in ordinary builds: runs a fuzz target over each file of the directories given, and over variants of it
// (cut short, bytes changed, stretches doubled) that are the same in every run. Prints "ok - FILE" when the target survived.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kVariants = 300;

// A heap copy of exactly the right size lets AddressSanitizer see a read beyond the end.
void run(const Bytes& input) {
  Bytes exact(input.begin(), input.end());
  exact.shrink_to_fit();
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

Bytes variant(const Bytes& original, std::minstd_rand& random) {
  Bytes bytes = original;
  const size_t at = random() % bytes.size();
  switch (random() % 4) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      for (unsigned n = random() % 8 + 1; n > 0; --n) bytes[random() % bytes.size()] = uint8_t(random());
      break;
    case 2:
      for (size_t i = at; i < std::min(at + 8, bytes.size()); ++i) bytes[i] = random() % 2 ? 0xff : 0;
      break;
    default: {
      const Bytes piece(bytes.begin() + std::ptrdiff_t(at), bytes.begin() + std::ptrdiff_t(std::min(at + 64, bytes.size())));
      bytes.insert(bytes.begin() + std::ptrdiff_t(random() % bytes.size()), piece.begin(), piece.end());
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  run({});
  printf("ok - empty input\n");
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      std::ifstream stream(file, std::ios::binary);
      const Bytes bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
      run(bytes);
      std::minstd_rand random;
      for (int n = 0; n < kVariants && !bytes.empty(); ++n) run(variant(bytes, random));
      printf("ok - %s\n", file.filename().c_str());
      fflush(stdout);
    }
  }
}
