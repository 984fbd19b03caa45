// SPDX-License-Identifier: Apache-2.0
#include "process_table.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include "catch.hpp"

using namespace fsr;

TEST_CASE("a thread keeps its id when its name changes, and gets the new name soon") {
  char before[16];
  prctl(PR_GET_NAME, before);
  ProcessTable table;
  const pid_t tid = gettid();
  int64_t now = 1'000'000'000;
  prctl(PR_SET_NAME, "first");
  const ThreadInfo* first = table.find(tid, now);
  CHECK(first->command == "first");
  CHECK(first->tid == tid);
  CHECK(first->pid == getpid());
  CHECK(first->ppid == getppid());
  prctl(PR_SET_NAME, "second");
  CHECK(table.find(tid, now + 1'000'000) == first);
  const ThreadInfo* second = table.find(tid, now += 5'000'000);
  CHECK(second->command == "second");
  CHECK(second->id == first->id);
  CHECK(first->command == "first");
  // Looked at more and more seldom, but always again.
  for (int i = 0; i < 100; ++i) CHECK(table.find(tid, now += 20'000'000) == second);
  prctl(PR_SET_NAME, "third");
  CHECK(table.find(tid, now += 4'000'000) == second);
  CHECK(table.find(tid, now += 1'000'000'000)->command == "third");
  prctl(PR_SET_NAME, before);
}
