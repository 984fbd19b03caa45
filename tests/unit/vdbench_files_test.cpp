// SPDX-License-Identifier: Apache-2.0
// Tests vdbench's trees (sizes and totals as in its own consoles, order of names) and its rates.
#include <set>
#include <string>

#include "catch.hpp"
#include "util/clock_ns.hpp"
#include "workloads/vdbench/files/java_random.hpp"
#include "workloads/vdbench/files/structure.hpp"
#include "workloads/vdbench/pace/pace.hpp"
#include "workloads/vdbench/pages/columns.hpp"

namespace fsr::vdbench_files_test {

using namespace fsr::vdbench;

TEST_CASE("vdbench's random numbers equal those of java.util.Random") {
  JavaRandom random(0);
  // Values of new Random(0).nextInt(100), as Java prints them.
  for (int expected : {60, 48, 29, 47, 15, 53, 91, 61, 19, 54}) REQUIRE(random.below(100) == expected);
  JavaRandom reals(0);
  REQUIRE(reals.unit() == Approx(0.730967787376657));
}

TEST_CASE("vdbench's trees have the numbers and bytes of the original") {
  FileSystem f;
  f.depth = 2, f.width = 3, f.files = 5, f.all_directories = true;
  f.sizes = {{8 << 10, 50}, {64 << 10, 50}};
  const Structure both(f);
  REQUIRE(both.directories() == 12);
  REQUIRE(both.files() == 60);
  REQUIRE(both.bytes() == 2'097'152);

  FileSystem about;
  about.width = 2, about.files = 100;
  about.sizes = {{8 << 10, 0}};
  const Structure sizes(about);
  REQUIRE(sizes.files() == 200);
  REQUIRE(sizes.bytes() == 1'660'928);
  about.working_set = 10, about.working_set_percent = true;
  REQUIRE(sizes.chosen_by(about).size() < 40);
}

TEST_CASE("vdbench's directories know their parents, children and names") {
  FileSystem f;
  f.depth = 3, f.width = 3, f.files = 2;
  const Structure s(f);
  REQUIRE(s.directories() == 39);
  REQUIRE(s.files() == 54);
  REQUIRE(s.directory_name(0) == "vdb.1_1.dir");
  REQUIRE(s.file_path(0) == "vdb.1_1.dir/vdb.2_1.dir/vdb.3_1.dir/vdb_f0001.file");
  REQUIRE(s.file_path(3) == "vdb.1_1.dir/vdb.2_2.dir/vdb.3_1.dir/vdb_f0002.file");
  std::set<std::string> paths;
  for (uint64_t d = 0; d < s.directories(); ++d) {
    paths.insert(s.directory_path(d));
    if (s.depth_of(d) < s.depth())
      for (uint64_t n = 0; n < s.width(); ++n) REQUIRE(s.parent_of(s.child_of(d, n)) == d);
  }
  REQUIRE(paths.size() == 39);
}

TEST_CASE("vdbench formats numbers to fit their columns") {
  REQUIRE(fit(23.44, 6, 1) == "  23.4");
  REQUIRE(fit(2345.6, 6, 1) == "2345.6");
  REQUIRE(fit(10937.3, 6, 1) == " 10937");
  REQUIRE(fit(8.161, 4, 2) == "8.16");
  REQUIRE(fit(28.31, 4, 2) == "28.3");
}

TEST_CASE("vdbench's pace starts the requested number in each second, in its shares") {
  Pace pace({{.share = 60}, {.share = 30}, {.share = 10}}, {.rate = 999.5});
  const unsigned kSeconds = 10;
  for (unsigned w = 0; w < 3; ++w) {
    const double expected = 999.5 * (w == 0 ? 0.6 : w == 1 ? 0.3 : 0.1) * kSeconds;
    int64_t last = 0;
    unsigned count = 0;
    for (;;) {
      const Pace::StartSlot turn = pace.take(w, 0);
      REQUIRE(turn.taken);
      REQUIRE(turn.at >= last);
      last = turn.at;
      if (turn.at >= int64_t(kSeconds) * 1'000'000'000) break;
      ++count;
    }
    REQUIRE(std::abs(double(count) - expected) <= 1);
  }
}

TEST_CASE("vdbench's workloads of equal shares start at times of their own") {
  for (const fsr::Arrival arrival : {fsr::Arrival::exponential, fsr::Arrival::uniform, fsr::Arrival::deterministic}) {
    Pace pace({{.share = 50}, {.share = 50}}, {.rate = 2000, .arrival = arrival});
    std::set<int64_t> starts;
    for (unsigned w : {0u, 1u})
      for (unsigned i = 0; i < 1000; ++i) starts.insert(pace.take(w, 0).at);
    REQUIRE(starts.size() > 1990);
  }
}

TEST_CASE("vdbench's workload without a rate waits for the shares of the others") {
  Pace pace({{.share = 75}, {.share = 25}}, {});
  unsigned taken = 0;
  while (pace.take(0, 0).taken) ++taken;
  REQUIRE(taken < 300);
  for (unsigned i = 0; i < 1000; ++i) {
    while (pace.take(0, 0).taken) ++taken;
    REQUIRE(pace.take(1, 0).taken);
  }
  REQUIRE(taken > 3000);
  REQUIRE(taken < 3300);
  pace.leave(1);
  for (unsigned i = 0; i < 1000; ++i) REQUIRE(pace.take(0, 0).taken);
}

TEST_CASE("vdbench keeps the rate of a workload before the shares of the others") {
  Pace pace({{.rate = 100, .priority = 1}, {.share = 60, .priority = 2}, {.share = 40, .priority = 2}}, {.rate = 1000});
  unsigned counts[3] = {};
  int64_t latest = 0;
  while ((latest = pace.take(0, 0).at) < 10 * fsr::kSecond) ++counts[0];
  // The latest start of the first workload is in the future, so the others go on.
  for (unsigned w : {1u, 2u})
    for (Pace::StartSlot turn = pace.take(w, 0); turn.at < 10 * fsr::kSecond; turn = pace.take(w, 0)) ++counts[w];
  REQUIRE(counts[0] == Approx(1000).margin(1));
  REQUIRE(counts[1] == Approx(6000).margin(1));
  REQUIRE(counts[2] == Approx(4000).margin(1));
  // That start has passed, and no thread of the first workload has asked for another one, so the others wait.
  REQUIRE_FALSE(pace.take(1, latest + fsr::kSecond).taken);
  pace.leave(0);
  REQUIRE(pace.take(1, latest + fsr::kSecond).taken);
}

}  // namespace fsr::vdbench_files_test
