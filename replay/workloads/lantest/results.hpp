// SPDX-License-Identifier: Apache-2.0
// What the tests measured, and the original's rules for summing it up, which are in whole numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "util/histogram.hpp"
#include "workloads/lantest/settings.hpp"

namespace fsr::lantest {

// Of one test in one iteration. The calls are read(2)s and write(2)s of the server's processes, 0 where they were not counted.
enum Measure : unsigned { kMilliseconds, kServerReads, kServerWrites, kIdReads, kIdWrites, kMeasures };
using Measures = std::array<uint64_t, kMeasures>;

// One iteration of a test.
struct TestRun {
  Measures measures{};
  int64_t elapsed = 0, cpu = 0;  // ns; the CPU's is this process's
  int64_t server_cpu = 0;        // ns, of afpd and cnid_dbd; 0 where their calls were not counted
};

struct Results {
  std::array<std::vector<TestRun>, kTests> runs;                  // in the order of the iterations
  std::array<std::map<std::string, Histogram>, kTests> commands;  // measured ones by name, of all iterations; ns
  bool counts_calls = false;
};

// Over the iterations. With more than five, the first smallest and the first largest value are left out; values of 0 always are.
struct Summary {
  uint64_t mean = 0;     // rounded down
  double deviation = 0;  // of a sample, from that mean
};
Summary summarize(const std::vector<TestRun>& runs, Measure measure);

// Decimal megabytes per second, in two steps that each round down; nothing for a time below a millisecond.
std::optional<uint64_t> megabytes_per_second(uint64_t bytes, uint64_t milliseconds);

}  // namespace fsr::lantest
