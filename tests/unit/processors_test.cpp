// SPDX-License-Identifier: Apache-2.0
#include "base/processors.hpp"

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "util/cgroup.hpp"

namespace fsr::processors_test {

namespace fs = std::filesystem;

namespace {

// Stands for /proc/self, and has control groups beside its files.
struct Groups {
  Groups() { REQUIRE(mkdtemp(top.data())); }
  ~Groups() { fs::remove_all(top); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(top + "/" + name).parent_path());
    std::ofstream(top + "/" + name) << text << "\n";
  }
  std::optional<unsigned> processors() { return cgroup_processors(top); }

  std::string top = fs::temp_directory_path() / "fsreplay-test.XXXXXX";
};

}  // namespace

TEST_CASE("a CPU quota of version 2 limits the processors, rounded up, the least one of the groups") {
  Groups groups;
  CHECK_FALSE(groups.processors());
  groups.write("mountinfo", "30 24 0:26 / " + groups.top + "/v2 rw - cgroup2 cgroup2 rw");
  groups.write("cgroup", "0::/a/b");
  CHECK_FALSE(groups.processors());
  groups.write("v2/a/b/cpu.max", "max 100000");
  CHECK_FALSE(groups.processors());
  groups.write("v2/a/cpu.max", "350000 100000");
  CHECK(groups.processors() == 4u);
  groups.write("v2/a/b/cpu.max", "10000 100000");
  CHECK(groups.processors() == 1u);
  groups.write("v2/a/b/cpu.max", "250000 50000");
  CHECK(groups.processors() == 4u);
}

TEST_CASE("a CPU quota of version 1 limits the processors, also in a container that sees its own group as the root") {
  Groups groups;
  groups.write("mountinfo", "31 24 0:27 /docker/x " + groups.top + "/v1 rw - cgroup cgroup rw,cpu,cpuacct");
  groups.write("cgroup", "5:memory:/other\n4:cpu,cpuacct:/docker/x");
  groups.write("v1/cpu.cfs_quota_us", "-1");
  groups.write("v1/cpu.cfs_period_us", "100000");
  CHECK_FALSE(groups.processors());
  groups.write("v1/cpu.cfs_quota_us", "200000");
  CHECK(groups.processors() == 2u);
}

TEST_CASE("processors beyond the affinity mask are not counted") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  CHECK(usable_processors() <= unsigned(CPU_COUNT(&before)));
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(usable_processors() == 1);
  sched_setaffinity(0, sizeof before, &before);
}

}  // namespace fsr::processors_test
