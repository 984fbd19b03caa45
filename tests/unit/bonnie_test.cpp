// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "workloads/bonnie/file_names.hpp"
#include "workloads/bonnie/layout.hpp"

namespace fsr::bonnie_test {

using namespace fsr::bonnie;

TEST_CASE("bonnie's random numbers equal those of the C library") {
  Numbers numbers(4711);
  for (int round = 0; round < 2; ++round) {
    srand(4711);
    for (int i = 0; i < 1000; ++i) REQUIRE(numbers.draw() == rand());
    numbers.reset();
  }
}

TEST_CASE("a listing returns bonnie's names, and each directory gets one file more than its share") {
  Numbers numbers(1);
  const NameList names = make_names(numbers, 100, 3, false);
  CHECK(names.files[99].directory == 2);
  CHECK(names.files[33].directory == 0);
  CHECK(names.files[34].directory == 1);
  for (const NamedFile& file : names.files) CHECK(number_in(file.name()) == file.number);
  CHECK(number_in("short") == -1);
  CHECK(number_in("000000000g") == -1);
}

TEST_CASE("bonnie reads and checks its sizes") {
  Settings s;
  s.take_big("2g:16k:1k:3");
  CHECK((s.size == 2048 && s.chunk == 16384 && s.seeks == 1024 && s.seekers == 3));
  s.take_small("2:1m:1k:4:512");
  CHECK((s.file_count() == 2048 && s.largest == 1048576 && s.smallest == 1024 && s.directories == 4 && s.file_chunk == 512));
  s.check(1024);
  CHECK_THROWS_AS(s.check(1025), std::invalid_argument);
  for (const char* wrong : {"", "x", "1:2:3:4:5", "1x", "1gg", "-3", "99999999999999999999"})
    CHECK_THROWS_AS(s.take_big(wrong), std::invalid_argument);
  s.size_by_memory(15'700);
  CHECK(s.size == 31'744);
}

TEST_CASE("bonnie's CSV line has the fields of the original in their order") {
  Settings settings;
  settings.size = 256;
  settings.files = 2;
  settings.largest = 2048;
  settings.smallest = 512;
  settings.directories = 4;
  Results results = {};
  results[kByteWrite] = {.elapsed = 2, .cpu = 1.96, .latency = 0.010432};
  results[kBlockWrite] = {.elapsed = 0.4, .cpu = 0.4, .latency = 0.25};
  results[kSeeks] = {.elapsed = 16, .cpu = 0.16, .latency = 100};
  results[kDeleteRandom] = {.elapsed = 1, .cpu = 0.5, .latency = 0.000014};
  const ResultHeader header{settings, results, "testhost", "42"};
  CHECK(csv(header) ==
        "1.98,2.00a,testhost,1,42,256M,,8192,5,1536,98,+++++,+++,,,,,,,512.0,1,2,2048,512,,4,,,,,,,,,,,2048,50,10432us,250ms,,,,"
        "100s,"
        ",,,,,14us\n");
  CHECK(csv_103(header) == "testhost,256M,1536,98,+++++,+++,,,,,,,512.0,1,2:2048:512/4,,,,,,,,,,,2048,50\n");
  CHECK(table(header).find("\ntesthost       256M 1536k  98 +++++ +++                               512.0   1\n") !=
        std::string::npos);
}

}  // namespace fsr::bonnie_test
