// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/password.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <stdexcept>

namespace fsr::afp {

namespace {

constexpr size_t kLongest = 1024;
constexpr const char* kVariable = "AFP_PASSWORD";

class Descriptor {
 public:
  Descriptor(const char* path, int flags) : fd_(::open(path, flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return fd_; }

 private:
  const int fd_;
};

volatile sig_atomic_t caught = 0;  // the signal that interrupted a prompt

// Holds back signals that would end the program while the terminal does not show input. A signal ends read_line(), and takes
// effect when the object is destroyed.
class EndingsHeld {
 public:
  EndingsHeld() {
    caught = 0;
    struct sigaction hold = {};
    hold.sa_handler = [](int number) { caught = number; };
    for (size_t i = 0; i < std::size(kEndings); ++i)
      if (sigaction(kEndings[i], nullptr, &before_[i]) == 0 && before_[i].sa_handler != SIG_IGN)
        sigaction(kEndings[i], &hold, nullptr);
  }
  ~EndingsHeld() {
    for (size_t i = 0; i < std::size(kEndings); ++i) sigaction(kEndings[i], &before_[i], nullptr);
    if (caught) raise(caught);
  }
  EndingsHeld(const EndingsHeld&) = delete;
  EndingsHeld& operator=(const EndingsHeld&) = delete;

 private:
  static constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  struct sigaction before_[std::size(kEndings)] = {};
};

// Reads up to the end of the line. False: there was no input, or a signal came first.
bool read_line(int fd, std::string* line) {
  char c;
  for (;;) {
    const ssize_t got = read(fd, &c, 1);
    if (got < 0 && errno == EINTR && !caught) continue;
    if (got <= 0 && line->empty()) return false;
    if (got <= 0 || c == '\n' || line->size() == kLongest) break;
    *line += c;
  }
  if (!line->empty() && line->back() == '\r') line->pop_back();
  return !caught;
}

std::string from_file(const std::string& path) {
  Descriptor fd(path.c_str(), O_RDONLY);
  struct stat st {};
  if (fd < 0 || fstat(fd, &st) < 0) throw std::runtime_error("can't read the password file " + path + ": " + strerror(errno));
  if (S_ISREG(st.st_mode) && (st.st_mode & S_IRWXO))
    throw std::runtime_error("the password file " + path + " can be read by other users; run chmod 600 on this file");
  std::string line;
  read_line(fd, &line);
  return line;
}

std::string from_terminal(int terminal, const std::string& prompt) {
  termios shown{};
  if (tcgetattr(terminal, &shown) < 0) return {};
  termios hidden = shown;
  hidden.c_lflag &= ~tcflag_t(ECHO);
  hidden.c_cc[VSUSP] = _POSIX_VDISABLE;
  if (write(terminal, prompt.data(), prompt.size()) < 0) return {};
  std::string line;
  bool entered;
  {
    EndingsHeld held;
    tcsetattr(terminal, TCSAFLUSH, &hidden);
    entered = read_line(terminal, &line);
    tcsetattr(terminal, TCSAFLUSH, &shown);
    (void)!write(terminal, "\n", 1);
  }
  if (!entered) throw std::runtime_error("no password was entered");
  return line;
}

}  // namespace

std::string get_password(const std::string& who, const std::string* file) {
  if (file) return from_file(*file);
  if (const char* value = getenv(kVariable)) return value;
  Descriptor terminal("/dev/tty", O_RDWR | O_NOCTTY);
  if (terminal < 0)
    throw std::runtime_error("no password for " + who + ": set " + kVariable +
                             ", name a file with password-file=, or use a terminal");
  return from_terminal(terminal, "Password for " + who + ": ");
}

}  // namespace fsr::afp
