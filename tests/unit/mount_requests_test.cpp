// SPDX-License-Identifier: Apache-2.0
#include "targets/file/mount_requests.hpp"

#include <map>

#include "catch.hpp"
#include "util/mountinfo.hpp"

namespace fsr::mount_requests_test {

static const std::string kMountstats =
    "device proc mounted on /proc with fstype proc\n"
    "device srv:/a mounted on /mnt with fstype nfs statvers=1.1\n"
    "\topts:\trw,vers=3,rsize=1048576\n"
    "\tper-op statistics\n"
    "\t        NULL: 1 1 0 44 24 0 0 0\n"
    "\t     GETATTR: 20 20 0 1 1 0 0 0\n"
    "device srv:/b mounted on /mnt/deep with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,rsize=1048576\n"
    "\tper-op statistics\n"
    "\t        OPEN: 3 3 0 1 1 0 0 0\n"
    "\t OPEN_NOATTR: 4 4 0 1 1 0 0 0\n"
    "\t OPEN_NOAT: 0 0 0 1 1 0 0 0\n"
    "\t SERVER_CAPS: 5 5 0 1 1 0 0 0\n"
    "\t     GETATTR: 6 6 0 1 1 0 0 0\n";

static std::map<std::string, uint64_t> as_map(const std::vector<std::pair<std::string, uint64_t>>& list) {
  return {list.begin(), list.end()};
}

TEST_CASE("the counters are those of the directory's mount") {
  auto three = as_map(requests_of_mountstats(kMountstats, "/mnt/x"));
  CHECK(three == std::map<std::string, uint64_t>{{"null", 1}, {"getattr", 20}});
  CHECK(as_map(requests_of_mountstats(kMountstats, "/mnt/deeper")) == three);
  auto four = as_map(requests_of_mountstats(kMountstats, "/mnt/deep/y/z"));
  CHECK(four["getattr"] == 11);
  CHECK(four["open"] >= 3);
  CHECK(requests_of_mountstats(kMountstats, "/srv").empty());
  CHECK(requests_of_mountstats("", "/mnt").empty());
  CHECK(requests_of_mountstats("device a mounted on / with fstype nfs", "/mnt").empty());
}

TEST_CASE("the counters are those of the whole client if the kernel does not distinguish mounts") {
  auto all = as_map(requests_of_client("net 1 0 1 0\nrpc 9 0 0\nproc2 18 0 1 0 0 2\nproc3 22 0 5 0 7\nproc4 2 9 9\n"));
  CHECK(all["getattr"] == 6);
  CHECK(all["lookup"] == 9);
  CHECK(requests_of_client("proc3 x\nproc3").empty());
}

TEST_CASE("a directory on a mount has a URL with server and path") {
  const auto mounts = parse_mountinfo(
      "40 1 0:50 / /mnt/a\\040b rw - nfs 10.0.0.2:/vfs/mix "
      "rw,vers=3,port=12049,mountaddr=10.0.0.2,mountport=12048,addr=10.0.0.2\n"
      "41 1 0:51 / /mnt/four rw - nfs4 server:/ rw,vers=4.2,clientaddr=10.0.0.9,addr=fe80::1\n"
      "42 1 0:52 / /tmp rw - tmpfs tmpfs rw\n");
  REQUIRE(mounts.size() == 3);
  CHECK(mount_url(mounts[0], "/mnt/a b") == "nfs://10.0.0.2:12049/vfs/mix?mountport=12048");
  CHECK(mount_url(mounts[0], "/mnt/a b/c?d") == "nfs://10.0.0.2:12049/vfs/mix/c%3fd?mountport=12048");
  CHECK(mount_url(mounts[1], "/mnt/four/x") == "nfs://[fe80::1]/x?version=4.1");
  CHECK(mount_url(mounts[2], "/tmp").empty());
}

}  // namespace fsr::mount_requests_test
