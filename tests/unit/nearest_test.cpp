// SPDX-License-Identifier: Apache-2.0
#include "util/nearest.hpp"

#include "catch.hpp"

namespace fsr::nearest_test {

TEST_CASE("the search finds a mistyped word, but no unrelated one") {
  const std::vector<std::string> words{"--scale", "--streams", "--seed", "--results"};
  CHECK(nearest_word("--sclae", words) == "--scale");
  CHECK(nearest_word("--scal", words) == "--scale");
  CHECK(nearest_word("--stream", words) == "--streams");
  CHECK(nearest_word("--result", words) == "--results");
  CHECK(nearest_word("--frobnicate", words) == "");
  CHECK(nearest_word("", words) == "");
}

}  // namespace fsr::nearest_test
