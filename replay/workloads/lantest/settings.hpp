// SPDX-License-Identifier: Apache-2.0
// The settings of a run: which of afp_lantest 4.5.1's tests, how often and how big.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>

namespace fsr::lantest {

constexpr unsigned kTests = 12;
// Numbers of the tests, from 0: the original's are one more.
enum Test : unsigned {
  kReadSmall,
  kWriteBig,
  kReadBig,
  kLock,
  kCreate,
  kEnumerate,
  kDelete,
  kTree,
  kCacheHits,
  kMixed,
  kDeep,
  kValidate
};

constexpr uint64_t kMiB = 1 << 20;
constexpr unsigned kUsualIterations = 2;

struct Settings {
  std::bitset<kTests> tests = ~std::bitset<kTests>();
  unsigned iterations = kUsualIterations;  // 1 .. 256
  uint64_t big_size = 100 * kMiB;          // bytes of the big file; a part chunk at its end is left out
  std::string big_file;                    // one that exists in the root, for the third test; empty: the second's
  bool as_operations = false;              // and not AFP's commands
  unsigned percent = 100;                  // 1 .. 100: of all counts, at least 1 of each

  // As after -f: a character a test, '1' to '9' and then ':', ';' and '<'. Throws std::invalid_argument.
  void choose(const std::string& letters);
  void choose_cache_tests() { tests = 0xf00; }
  // Adds the tests that others need: 5 for 6 and 7, 2 for 3 unless there is a file.
  void complete();
  unsigned share(unsigned count) const;  // `percent` of it
};

// LanTest-PID, and of several sessions LanTest-PID-SESSION. `session` counts from 1; 0: there is only one.
std::string test_directory(unsigned session);
// "Locking/Unlocking 10000 times each"
const char* title(unsigned test);
// The same with "[20,000 AFP ops]", or with "[as operations]".
std::string label(const Settings& settings, unsigned test);
// The sum of what the labels of the chosen tests say. (The original says 80686, the sum of all, whichever were chosen.)
unsigned chosen_operations(const Settings& settings);

}  // namespace fsr::lantest
