// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>

namespace differential {

namespace {

constexpr int kTimeout = 30'000;  // ms, for a sequence that takes some milliseconds

void* shared(size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("mmap");
    exit(2);
  }
  return memory;
}

void reset(Side& side, uint32_t count) {
  memset(static_cast<void*>(&side), 0, offsetof(Side, results));
  for (uint32_t i = 0; i < count; ++i) memset(static_cast<void*>(&side.results[i]), 0, sizeof(Result));
  side.tree[0] = side.beneath[0] = side.trouble[0] = '\0';
}

// The first line in which two descriptions differ; empty when none does.
std::string first_difference(const char* a, const char* b, const char* name_a, const char* name_b) {
  std::istringstream lines_a(a), lines_b(b);
  for (;;) {
    std::string line_a, line_b;
    bool more_a = bool(std::getline(lines_a, line_a)), more_b = bool(std::getline(lines_b, line_b));
    if (!more_a && !more_b) return "";
    if (line_a != line_b) return std::string("  ") + name_a + ": " + line_a + "\n  " + name_b + ": " + line_b + "\n";
  }
}

}  // namespace

Pair::Pair(std::string bare, std::string shim, std::string beneath, bool captured)
    : bare_(std::move(bare)), shim_(std::move(shim)), beneath_(std::move(beneath)) {
  struct stat s;
  if (stat(shim_.c_str(), &s) != 0) {
    perror(shim_.c_str());
    exit(2);
  }
  if (captured) abort_file_ = "/sys/fs/fuse/connections/" + std::to_string(minor(s.st_dev)) + "/abort";
  if (captured && (major(s.st_dev) != 0 || access(abort_file_.c_str(), W_OK) != 0)) {
    fprintf(stderr, "differential: %s is no FUSE mount whose connection can be aborted (%s)\n", shim_.c_str(),
            abort_file_.c_str());
    exit(2);
  }
  sequence_ = new (shared(sizeof(Sequence))) Sequence;
  bare_side_ = static_cast<Side*>(shared(sizeof(Side)));
  shim_side_ = static_cast<Side*>(shared(sizeof(Side)));
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

pid_t Pair::start(Side& side, const std::string& directory, const std::string& beneath) {
  reset(side, sequence_->count);
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    run_side(side, *sequence_, directory.c_str(), beneath.empty() ? nullptr : beneath.c_str());
    _exit(0);
  }
  setpgid(pid, pid);
  return pid;
}

bool Pair::wait_for(pid_t pid) {
  int fd = int(syscall(SYS_pidfd_open, pid, 0));
  pollfd p{fd, POLLIN, 0};
  bool ended = poll(&p, 1, kTimeout) == 1;
  close(fd);
  return ended;
}

void Pair::cut_off() {
  if (abort_file_.empty()) return;  // the program that made the captures ends them
  int fd = open(abort_file_.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "1", 1) != 1) perror(abort_file_.c_str());
  close(fd);
}

Outcome Pair::run() {
  std::string name = sequence_->mounts ? "" : "/" + std::to_string(++count_);
  pid_t a = start(*bare_side_, bare_ + name, ""), b = start(*shim_side_, shim_ + name, beneath_.empty() ? "" : beneath_ + name);
  bool bare_ended = wait_for(a), shim_ended = wait_for(b);
  if (bare_ended && !shim_ended) cut_off();
  for (pid_t group : {a, b}) kill(-group, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  if (!bare_ended || !shim_ended) {
    const Side& side = bare_ended ? *shim_side_ : *bare_side_;
    uint32_t at = std::min(side.at.load(), sequence_->count - 1);
    return {Outcome::What::hang, at, "hang",
            std::string(bare_ended ? "the shim" : "the bare directory") + " did not answer in 30 s\n"};
  }
  for (const Side* side : {bare_side_, shim_side_}) {
    if (!side->finished) return {Outcome::What::trouble, 0, "died", "the runner died\n"};
    if (side->trouble[0] != '\0') return {Outcome::What::trouble, 0, "trouble", std::string(side->trouble) + "\n"};
  }
  return compare();
}

bool Pair::is_here(Known::Where where) const {
  return where == Known::Where::everywhere || (where == Known::Where::mounts ? sequence_->mounts : kernel_checks);
}

Outcome Pair::compare() {
  for (uint32_t i = 0; i < sequence_->count; ++i) {
    const Result &bare = bare_side_->results[i], &shim = shim_side_->results[i];
    const Op& op = sequence_->ops[i];
    const Known* why = nullptr;
    for (const Known& k : known_differences()) {
      const bool asked = why == nullptr && (bare != shim || k.after == Known::After::hidden);
      if (asked && is_here(k.where) && k.applies(op, bare, shim)) why = &k;
    }
    if (why != nullptr) {
      ++known[why->name];
      if (why->after != Known::After::goes_on) return {};
    }
    if (why != nullptr || bare == shim) continue;
    std::string sign = std::string(calls()[op.call].name) + " " + std::to_string(bare.error) + " " + std::to_string(shim.error);
    return {Outcome::What::answer, i, sign, "  bare: " + show(bare) + "\n  shim: " + show(shim) + "\n"};
  }
  std::string text = first_difference(bare_side_->tree, shim_side_->tree, "bare", "shim");
  if (!text.empty()) return {Outcome::What::tree, 0, "tree", text};
  if (!beneath_.empty()) text = first_difference(shim_side_->tree, shim_side_->beneath, "shim", "beneath it");
  if (!text.empty()) return {Outcome::What::beneath, 0, "beneath", text};
  return {};
}

}  // namespace differential
