// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/password.hpp"

#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "catch.hpp"

namespace fsr::password_test {

namespace {

// A process that asks for a password, on a terminal of its own.
struct Prompted {
  int terminal = -1;
  pid_t pid = -1;

  Prompted() {
    unsetenv("AFP_PASSWORD");
    pid = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0) {
      signal(SIGINT, SIG_DFL);  // Catch's own handler would write to this program's report
      try {
        _exit(afp::get_password("user@server", nullptr) == "secret" ? 0 : 1);
      } catch (const std::exception&) {
        _exit(2);
      }
    }
    // The prompt comes before the echo is switched off. Input before that would be shown and discarded.
    std::string shown;
    for (char c; shown.find(": ") == std::string::npos && read(terminal, &c, 1) == 1;) shown += c;
    while (echoes()) continue;
  }
  ~Prompted() { close(terminal); }

  bool echoes() const {
    termios settings{};
    return tcgetattr(terminal, &settings) == 0 && (settings.c_lflag & ECHO);
  }
  int type(const std::string& text) {
    REQUIRE(write(terminal, text.data(), text.size()) == ssize_t(text.size()));
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    return status;
  }
};

}  // namespace

TEST_CASE("the terminal does not echo a typed password", "[password]") {
  Prompted prompted;
  const int status = prompted.type("secret\n");
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(prompted.echoes());
}

TEST_CASE("^C at the password prompt ends the program and the terminal echoes again", "[password]") {
  Prompted prompted;
  const int status = prompted.type("sec\x03");
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGINT);
  CHECK(prompted.echoes());
}

TEST_CASE("the end of input at the password prompt is an error, not an empty password", "[password]") {
  Prompted prompted;
  const int status = prompted.type("\x04");
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
}

}  // namespace fsr::password_test
