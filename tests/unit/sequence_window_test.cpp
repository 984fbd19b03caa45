// SPDX-License-Identifier: Apache-2.0
#include "targets/rpc/sequence_window.hpp"

#include "catch.hpp"

namespace fsr::sequence_window_test {

using fsr::rpc::SequenceWindow;

TEST_CASE("a window has room until its oldest number is unanswered for a window's length") {
  SequenceWindow window;
  window.begin(3);
  CHECK(window.take() == 1);
  CHECK(window.take() == 2);
  CHECK(window.has_room());
  CHECK(window.take() == 3);
  CHECK_FALSE(window.has_room());
  window.answered(2);
  window.answered(3);
  CHECK_FALSE(window.has_room());  // 4 would make the server drop 1
  window.answered(1);
  window.answered(1);
  CHECK(window.take() == 4);
  CHECK(window.take() == 5);
  CHECK(window.take() == 6);
  CHECK_FALSE(window.has_room());
}

TEST_CASE("a number that is taken without room gives up the oldest") {
  SequenceWindow window;
  window.begin(2);
  for (uint32_t number = 1; number <= 5; ++number) CHECK(window.take() == number);
  window.answered(1);  // long given up
  CHECK_FALSE(window.has_room());
  window.answered(4);
  CHECK(window.has_room());
}

}  // namespace fsr::sequence_window_test
