// SPDX-License-Identifier: Apache-2.0
#include "process_table.hpp"

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace fsr::process_table_test {

using namespace fsr::shim;

TEST_CASE("a thread keeps its id when its name changes, and gets the new name soon") {
  char before[16];
  prctl(PR_GET_NAME, before);
  ProcessTable table;
  const pid_t tid = gettid();
  int64_t now = 1'000'000'000;
  prctl(PR_SET_NAME, "first");
  const OwnThread first = table.find(tid, now);
  CHECK(first.command == "first");
  CHECK(first.tid == tid);
  CHECK(first.pid == getpid());
  CHECK(first.ppid == getppid());
  prctl(PR_SET_NAME, "second");
  CHECK(table.find(tid, now + 1'000'000).command == "first");
  const OwnThread second = table.find(tid, now += 5'000'000);
  CHECK(second.command == "second");
  CHECK(second.id == first.id);
  CHECK(first.command == "first");
  // The entry is checked less and less often, but never for the last time.
  for (int i = 0; i < 100; ++i) CHECK(table.find(tid, now += 20'000'000).command == "second");
  prctl(PR_SET_NAME, "third");
  CHECK(table.find(tid, now += 4'000'000).command == "second");
  CHECK(table.find(tid, now += 1'000'000'000).command == "third");
  prctl(PR_SET_NAME, before);
}

TEST_CASE("a thread keeps its id when its start time becomes known, and loses it to another start time") {
  ProcessTable table;
  std::vector<pid_t> asked;
  table.ask_start = [&](pid_t tid) { asked.push_back(tid); };
  const pid_t tid = gettid();
  int64_t now = 1'000'000'000'000;  // later than times that this thread has stored for other tables
  const OwnThread unknown = table.find(tid, now);
  CHECK(unknown.start_ticks == 0);
  CHECK(asked == std::vector<pid_t>{tid});
  table.started(tid, 1234);
  const OwnThread known = table.find(tid, now += 5'000'000);
  CHECK(known.start_ticks == 1234);
  CHECK(known.id == unknown.id);
  CHECK(table.find(tid, now += 2'000'000'000).id == known.id);
  table.started(tid, 5678);
  const OwnThread other = table.find(tid, now += 2'000'000'000);
  CHECK(other.start_ticks == 5678);
  CHECK(other.id != known.id);
  CHECK(asked.size() == 1);
}

TEST_CASE("a thread that has ended is known only by its id, without a query") {
  ProcessTable table;
  table.ask_start = [](pid_t) { FAIL("asked"); };
  const OwnThread gone = table.find(0, 1);
  CHECK(gone.pid == 0);
  CHECK(gone.command.empty());
}

TEST_CASE("a reused id is looked up again by every thread that needs it") {
  ProcessTable table;
  const pid_t tid = gettid();
  const int64_t now = 2'000'000'000'000;
  const OwnThread before = table.find(tid, now);
  table.started(tid, 1234);
  table.started(tid, 5678);
  OwnThread after;
  std::thread([&] { after = table.find(tid, now); }).join();
  REQUIRE(after.id != 0);
  CHECK(after.start_ticks == 5678);
  CHECK(after.id != before.id);
}

TEST_CASE("a thread that has ended is forgotten a minute after it was seen, and one that lives is not") {
  ProcessTable table;
  const pid_t tid = gettid();
  pid_t ended = 0;
  int64_t now = 3'000'000'000'000;
  OwnThread was;
  std::thread([&] { was = table.find(ended = gettid(), now); }).join();
  const OwnThread lives = table.find(tid, now);
  while (access(("/proc/" + std::to_string(ended)).c_str(), F_OK) == 0) std::this_thread::yield();
  char before[16];
  prctl(PR_GET_NAME, before);
  prctl(PR_SET_NAME, "");  // a name like that of a thread that has none any more
  auto look = [&] {
    for (int i = 0; i < 4; ++i) table.forget_ended(now);
  };
  now += 59'000'000'000;
  look();
  CHECK(table.find(ended, now).id == was.id);
  now += 31'000'000'000;
  look();
  CHECK(table.find(ended, now).id == was.id);  // half a minute after the last look-up
  for (int i = 0; i < 2; ++i) {
    now += 31'000'000'000;
    look();
  }
  CHECK(table.find(tid, now).id == lives.id);
  prctl(PR_SET_NAME, before);
  const OwnThread anew = table.find(ended, now);
  CHECK(anew.id != was.id);
  CHECK(anew.command.empty());
}

TEST_CASE("a thread has its last name, and former names take no memory") {
  ProcessTable table;
  const pid_t tid = gettid();
  char before[16];
  prctl(PR_GET_NAME, before);
  auto rename = [](int number) {
    const std::string name = "thread " + std::to_string(number);
    prctl(PR_SET_NAME, name.c_str());
    return name;
  };
  int64_t now = 4'000'000'000'000;
  std::string name;
  for (int i = 0; i < 100; ++i) {
    name = rename(i);
    table.find(tid, now += 2'000'000'000);
  }
  CHECK(table.find(tid, now).command == name);
  constexpr int kMany = 20'000;
  const size_t used = mallinfo2().uordblks;
  for (int i = 0; i < kMany; ++i) {
    rename(1000 + i);
    table.named(tid, i + 2, 1, now);  // one more process that had the number
  }
  CHECK(mallinfo2().uordblks < used + kMany);
  prctl(PR_SET_NAME, before);
}

}  // namespace fsr::process_table_test
