// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>

#include "catch.hpp"
#include "util/check.hpp"
#include "util/debug_log.hpp"

namespace fsr::debug_log_test {

namespace {

struct Output {
  int status;
  std::string text;
};

// Runs `act` in a child; returns its wait status and what it wrote to stderr.
template <class Act>
Output in_child(Act act) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    act();
    flush_log();
    _exit(0);
  }
  close(ends[1]);
  Output output;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) output.text.append(buffer, size_t(n));
  close(ends[0]);
  REQUIRE(waitpid(child, &output.status, 0) == child);
  return output;
}

}  // namespace

TEST_CASE("the debug log writes nothing until an area is selected") {
  CHECK_FALSE(logs(LogArea::wire, LogLevel::info));
  const Output output = in_child([] {
    set_log_levels("wire:info,plan");
    if (logs(LogArea::wire, LogLevel::debug)) log_line(LogArea::wire, "too much");
    if (logs(LogArea::wire, LogLevel::info)) log_line(LogArea::wire, "connected");
    if (logs(LogArea::plan, LogLevel::debug)) log_line(LogArea::plan, "waits");
    if (logs(LogArea::shim, LogLevel::info)) log_line(LogArea::shim, "not asked for");
  });
  CHECK(output.status == 0);
  CHECK(output.text.find(" wire connected\n") != std::string::npos);
  CHECK(output.text.find(" plan waits\n") != std::string::npos);
  CHECK(output.text.find("too much") == std::string::npos);
  CHECK(output.text.find("not asked for") == std::string::npos);
}

TEST_CASE("a process that is forked after the first debug line writes its own lines") {
  const Output output = in_child([] {
    set_log_levels("wire");
    log_line(LogArea::wire, "before the fork");
    flush_log();
    if (fork() == 0) {
      log_line(LogArea::wire, "of the forked process");
      flush_log();
      _exit(0);  // exit() would also end what other test cases left
    }
    int status = 0;
    if (wait(&status) < 0 || status != 0) _exit(1);
    log_line(LogArea::wire, "after the fork");
  });
  CHECK(output.status == 0);
  for (const char* line : {" wire before the fork\n", " wire of the forked process\n", " wire after the fork\n"}) {
    const size_t at = output.text.find(line);
    CHECK(at != std::string::npos);
    CHECK(output.text.find(line, at + 1) == std::string::npos);
  }
}

TEST_CASE("a message on a wrong list of debug areas says what was expected") {
  CHECK_THROWS_WITH(set_log_levels("wires"), "expected wire, plan, shim or all, not 'wires'");
  CHECK_THROWS_WITH(set_log_levels("wire:loud"), "expected off, info or debug, not 'loud'");
  CHECK_FALSE(logs(LogArea::wire, LogLevel::info));
}

TEST_CASE("a failed check prints its source line, its condition and the last debug lines, and aborts") {
  const Output output = in_child([] {
    set_log_levels("wire");
    log_line(LogArea::wire, "the line before");
    const int slots = 3;
    FSR_CHECK(slots < 3, std::to_string(slots) + " slots");
  });
  CHECK(WIFSIGNALED(output.status));
  CHECK(WTERMSIG(output.status) == SIGABRT);
  CHECK(output.text.find("debug_log_test.cpp:") != std::string::npos);
  CHECK(output.text.find("slots < 3 (3 slots)") != std::string::npos);
  CHECK(output.text.find("The last debug lines:") != std::string::npos);
}

}  // namespace fsr::debug_log_test
