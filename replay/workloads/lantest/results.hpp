// SPDX-License-Identifier: Apache-2.0
// Results of the tests, and the original's rules for adding them up in whole numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "util/histogram.hpp"
#include "workloads/lantest/settings.hpp"

namespace fsr {
class ByteReader;
class ByteWriter;
}  // namespace fsr

namespace fsr::lantest {

// Figures of one test in one iteration. Calls are read(2)s and write(2)s of the server's processes; 0 if they were not counted.
enum Measure : unsigned { kMilliseconds, kServerReads, kServerWrites, kIdReads, kIdWrites, kMeasures };
using Measures = std::array<uint64_t, kMeasures>;

// One iteration of a test.
struct TestRun {
  Measures measures{};
  int64_t started = 0, elapsed = 0;  // ns
  int64_t cpu = 0;                   // ns, of the session's thread; for operations, of the process
  int64_t server_cpu = 0;            // ns, of afpd; 0 if calls were not counted
  int64_t ids_cpu = 0;               // ns, of cnid_dbd; 0 if calls were not counted
};

struct Results {
  std::array<std::vector<TestRun>, kTests> runs;                  // in the order of the iterations
  std::array<std::map<std::string, Histogram>, kTests> commands;  // times of measured commands by name, over all iterations; ns
  bool counts_calls = false;
  unsigned sessions = 1;  // number of sessions in this sum

  // Serialization of one session's results for another process of the same program. `ahead`: ns by which the other process's
  // clock is ahead. For bytes that save() did not write, load() makes the reader fail.
  void save(ByteWriter& out, int64_t ahead) const;
  static Results load(ByteReader& in);
};

// Results of sessions that ran at the same time and completed.
struct Sessions {
  std::vector<unsigned> numbers;  // from 1
  std::vector<Results> each;
  // Sums of each iteration of a test. The time goes from the beginning of the first session to the end of the last. Calls and CPU
  // times are added up. Two values are common to all sessions: those of cnid_dbd and, for operations, the CPU time of the
  // process.
  Results sum;
  bool of_one_process = true;

  void add(unsigned number, const Results& results, const Settings& settings);
};

// Summary over the iterations. With more than five, one smallest and one largest value are left out. Values of 0 are always left
// out.
struct Summary {
  uint64_t mean = 0;     // rounded down
  double deviation = 0;  // standard deviation of a sample, from that mean
};
Summary summarize(const std::vector<TestRun>& runs, Measure measure);

inline uint64_t whole_milliseconds(int64_t elapsed) { return uint64_t(elapsed / 1'000'000); }  // rounded down
// Returns decimal megabytes per second, rounded down twice. None: the time is below a millisecond.
std::optional<uint64_t> megabytes_per_second(uint64_t bytes, uint64_t milliseconds);

}  // namespace fsr::lantest
