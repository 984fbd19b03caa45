// SPDX-License-Identifier: Apache-2.0
// Tests that flags of an open mean the same on every processor: traces have those of x86-64.
#include "trace/open_flags.hpp"

#include "catch.hpp"

namespace fsr::open_flags_test {

TEST_CASE("an arm64's flags of an open are those of x86-64 in a trace") {
  constexpr OpenFlagPlaces kArm64{0200000, 0400000, 0040000, 0100000}, kPowerPc{0400000, 0200000, 0040000, 0100000};
  CHECK(moved_open_flags(0200000 | 02, kArm64, kTraceOpenFlags) == (0040000 | 02));  // O_DIRECT | O_RDWR
  CHECK(moved_open_flags(0040000, kArm64, kTraceOpenFlags) == 0200000);              // O_DIRECTORY
  CHECK(moved_open_flags(0500000, kArm64, kTraceOpenFlags) == 0500000);              // O_LARGEFILE | O_NOFOLLOW change places
  CHECK(moved_open_flags(0400000, kArm64, kTraceOpenFlags) == 0100000);
  CHECK(moved_open_flags(0400000, kPowerPc, kTraceOpenFlags) == 0040000);
  for (const OpenFlagPlaces& other : {kArm64, kPowerPc})
    for (uint32_t bit = 1; bit; bit <<= 1)
      CHECK(moved_open_flags(moved_open_flags(bit | 1, kTraceOpenFlags, other), other, kTraceOpenFlags) == (bit | 1));
}

TEST_CASE("this machine's flags of an open are told apart in a trace") {
  CHECK(trace_open_flags(O_RDWR | O_DIRECT | O_CREAT | O_EXCL) == 040302u);
  CHECK(trace_open_flags(O_DIRECTORY | O_NOFOLLOW) == 0600000u);
  CHECK(local_open_flags(020200000) == uint32_t(O_TMPFILE));
  CHECK(trace_open_flags(local_open_flags(0100000)) == 0100000);
}

}  // namespace fsr::open_flags_test
