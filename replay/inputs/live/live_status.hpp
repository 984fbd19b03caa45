// SPDX-License-Identifier: Apache-2.0
// State of a live replay, while it goes on and at its end. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "op.hpp"
#include "util/histogram.hpp"

namespace fsr {

// Preparation of files before their first use.
struct LiveCounts {
  uint64_t directories = 0, files = 0;  // made or looked up
  uint64_t bytes = 0;                   // of file data that was made
  uint64_t repeated = 0;                // preparations that were repeated because no reply came
  uint64_t failed = 0;                  // operations that failed
  std::string first_failed;             // the first of them; empty: none
};

struct LiveStatus {
  LiveCounts files;
  uint64_t operations = 0;                    // of the capture so far
  uint64_t diverged = 0;                      // objects and names that differ now, as far as outcomes have shown
  uint64_t consequences = 0;                  // outcomes that differed because earlier ones did
  std::array<uint64_t, kOpKinds> left_out{};  // operations that were left out because the replay was behind
  uint64_t cut = 0;                           // windows behind which not all operations were looked at, because of their number
  int64_t lag_now = 0;                        // ns
  Histogram lag;                              // ns, several times a second, and peaks between
  int64_t gave_up = 0;                        // ns, the lag that ended the run; 0: none did
  uint64_t spooled = 0, most_spooled = 0;     // bytes that wait on disk, now and at most
  bool spool_full = false;                    // the pipe had to wait
  int spool_failure = 0;                      // errno; 0: none

  uint64_t left_out_in_all() const;
  std::string left_out_text() const;  // "read 10, getattr 5"
};

}  // namespace fsr
