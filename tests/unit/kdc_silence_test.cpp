// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/kdc_silence.hpp"

#include "catch.hpp"

namespace fsr::kdc_silence_test {

using fsr::rpc::KdcSilence;

namespace {
constexpr int64_t kSec = 1'000'000'000;
}

TEST_CASE("one user's wait for a silent KDC spares the others of the realm theirs") {
  KdcSilence silence;
  CHECK_FALSE(silence.holds("A", 0));
  silence.noticed("A", 10 * kSec, 14 * kSec);
  CHECK(silence.holds("A", 14 * kSec));
  CHECK(silence.holds("A", 26 * kSec - 1));
  CHECK_FALSE(silence.holds("A", 26 * kSec));
  CHECK_FALSE(silence.holds("B", 14 * kSec));
  silence.noticed("A", 0, 100 * kSec);
  CHECK_FALSE(silence.holds("A", 100 * kSec + KdcSilence::kMost));
  silence.ended("A");
  CHECK_FALSE(silence.holds("A", 100 * kSec));
  silence.noticed("A", 7 * kSec, 7 * kSec);  // refused at once
  CHECK_FALSE(silence.holds("A", 7 * kSec));
}

TEST_CASE("a silent KDC does not matter to a user whose ticket is good") {
  KdcSilence silence;
  CHECK_FALSE(silence.has_ticket(1, 0));
  CHECK(silence.got_ticket(1, 100 * kSec));
  CHECK(silence.has_ticket(1, 99 * kSec));
  CHECK_FALSE(silence.has_ticket(1, 100 * kSec));
  CHECK_FALSE(silence.has_ticket(2, 99 * kSec));
  CHECK_FALSE(silence.got_ticket(1, 101 * kSec));  // the same, by rounding
  CHECK(silence.got_ticket(1, 200 * kSec));
}

}  // namespace fsr::kdc_silence_test
