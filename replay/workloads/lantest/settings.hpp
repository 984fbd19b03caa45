// SPDX-License-Identifier: Apache-2.0
// Settings of a run: which of afp_lantest 4.5.1's tests it has, how often, and how large.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>

namespace fsr::lantest {

constexpr unsigned kTests = 12;
// Numbers of the tests, from 0. The original counts from 1.
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
  uint64_t big_size = 100 * kMiB;          // bytes of the big file; an incomplete chunk at its end is left out
  std::string big_file;                    // existing file in the root for the third test; empty: the file of the second test
  bool as_operations = false;              // use operations instead of AFP commands
  unsigned percent = 100;                  // 1 .. 100: percentage of all counts; each is at least 1

  // Parses the value of -f: one character for each test, '1' to '9' and then ':', ';' and '<'. Throws std::invalid_argument.
  void choose(const std::string& letters);
  void choose_cache_tests() { tests = 0xf00; }
  // Adds the tests that chosen tests need: 5 for 6 and 7; 2 for 3, unless big_file is set.
  void complete();
  unsigned share(unsigned count) const;  // `percent` of `count`
};

// Returns LanTest-PID, or LanTest-PID-SESSION with several sessions. `session` counts from 1; 0: there is only one.
std::string test_directory(unsigned session);
// Returns the title of a test: "Locking/Unlocking 10000 times each".
const char* title(unsigned test);
// Returns the title with "[20,000 AFP ops]" or "[as operations]".
std::string label(const Settings& settings, unsigned test);
// Returns the sum of the operations in the labels of the chosen tests. (The original always prints 80686, the sum for all tests.)
unsigned chosen_operations(const Settings& settings);

}  // namespace fsr::lantest
