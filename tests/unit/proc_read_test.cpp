// SPDX-License-Identifier: Apache-2.0
#include "proc_read.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "catch.hpp"

namespace fsr::proc_read_test {

using namespace fsr::shim;

TEST_CASE("the reader returns the ids and names of a thread from its status") {
  char before[16];
  prctl(PR_GET_NAME, before);
  prctl(PR_SET_NAME, "a\n\\:\tb");
  ThreadStatus status;
  REQUIRE(read_status(gettid(), status));
  CHECK(!strcmp(status.name, "a\n\\:\tb"));
  CHECK(status.pid == getpid());
  CHECK(status.ppid == getppid());
  CHECK(status.uid[1] == geteuid());
  CHECK(status.gid[1] == getegid());
  std::vector<gid_t> groups(size_t(getgroups(0, nullptr)));
  groups.resize(size_t(getgroups(int(groups.size()), groups.data())));
  std::sort(groups.begin(), groups.end());
  CHECK(status.groups == groups);
  prctl(PR_SET_NAME, before);
}

TEST_CASE("the parser finds the fields of a status text") {
  ThreadStatus status;
  parse_status(
      "Name:\tx\nTgid:\t12\nPPid:\t3\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t20 4294967294 \n"
      "SigPnd:\t0000000000000001\nShdPnd:\t0000000000000100\nSigBlk:\t8000000000000000\nCapBnd:\t000001ffffffffff\nSeccomp:\t0\n",
      status);
  CHECK(!strcmp(status.name, "x"));
  CHECK(status.pid == 12);
  CHECK(status.ppid == 3);
  CHECK(std::vector(status.uid, status.uid + 4) == std::vector<uid_t>{1, 2, 3, 4});
  CHECK(std::vector(status.gid, status.gid + 4) == std::vector<gid_t>{5, 6, 7, 8});
  CHECK(status.groups == std::vector<gid_t>{20, 4294967294});
  CHECK(status.signals_pending == 0x101);
  CHECK(status.signals_blocked == 1ull << 63);
  CHECK(status.bounding == 0x1ffffffffff);
  parse_status("Name:\ty\nGroups:\t\nCapBnd:\t0\n", status);
  CHECK(status.groups.empty());
}

TEST_CASE("an open /proc file belongs to one thread as long as that lives") {
  ThreadStatus status, again;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) > 0);
  }
  REQUIRE(read_status(child, status));
  REQUIRE(read_status(child, again));
  CHECK(status.instance == again.instance);
  REQUIRE(read_status(getpid(), again));
  CHECK(status.instance != again.instance);
  close(ends[0]);
  close(ends[1]);
  waitpid(child, nullptr, 0);
  CHECK(!read_status(child, status));
}

TEST_CASE("the reader returns other facts from /proc") {
  CHECK(read_proc("self", ProcFile::uid_map) == read_proc(std::to_string(getpid()), ProcFile::uid_map));
  CHECK(read_proc("self", ProcFile::mountinfo).find(" / ") != std::string::npos);
  CHECK(read_proc("self", ProcFile::comm).find('\n') == std::string::npos);
  CHECK(read_proc("0", ProcFile::gid_map).empty());
  const std::vector<pid_t> ids = process_ids();
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  CHECK(std::binary_search(ids.begin(), ids.end(), getpid()));
}

}  // namespace fsr::proc_read_test
