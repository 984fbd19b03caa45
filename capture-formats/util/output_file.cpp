// SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "stop_signals.hpp"

namespace fsr {

namespace {

// The file that the signal handler removes. Null: no temporary file exists.
const char* volatile unfinished = nullptr;

void remove_and_end(int signal) {
  if (unfinished) unlink(unfinished);
  raise(signal);  // the default action is restored already
}

void guard(const char* path) {
  unfinished = path;
  for (int signal : kEndingSignals) {
    struct sigaction action = {}, old;
    action.sa_handler = path ? remove_and_end : SIG_DFL;
    action.sa_flags = int(SA_RESETHAND);
    // A signal that is ignored (nohup) stays ignored, and one that the program handles keeps its handler.
    if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler == (path ? SIG_DFL : remove_and_end))
      sigaction(signal, &action, nullptr);
  }
}

[[noreturn]] void fail(const std::string& path, int error) { throw std::runtime_error(path + ": " + strerror(error)); }

}  // namespace

OutputFile::OutputFile(const std::string& path, bool replace, Readers readers) : path_(path), replace_(replace) {
  struct stat st;
  if (stat(path.c_str(), &st) == 0) {
    if (!replace) throw std::runtime_error(path + ": exists already; give --force to replace the file, or another name");
    if (!S_ISREG(st.st_mode)) throw std::runtime_error(path + ": not a regular file");
  }
  temporary_ = path + ".partial-XXXXXX";
  // No signal may come between making the file and knowing what to remove.
  sigset_t endings, before;
  sigemptyset(&endings);
  for (int signal : kEndingSignals) sigaddset(&endings, signal);
  sigprocmask(SIG_BLOCK, &endings, &before);
  fd_ = mkostemp(temporary_.data(), O_CLOEXEC);
  const int error = errno;
  if (fd_ >= 0) guard(temporary_.c_str());
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (fd_ < 0) fail(path, error);
  if (readers == Readers::by_umask) {
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd_, 0666 & ~mask);
  }
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  guard(nullptr);
}

int OutputFile::take_fd() { return std::exchange(fd_, -1); }

void OutputFile::finish(std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = write(fd_, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(path_, n < 0 ? errno : ENOSPC);
    content.remove_prefix(size_t(n));
  }
  if (close(take_fd()) != 0) fail(path_, errno);
  commit();
}

void OutputFile::commit() {
  int done = renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), replace_ ? 0 : RENAME_NOREPLACE);
  // File systems that know no flags can make a link without replacing anything.
  if (done < 0 && errno == EINVAL && !replace_) done = link(temporary_.c_str(), path_.c_str());
  if (done < 0 && errno == EEXIST)
    throw std::runtime_error(path_ + ": exists already; give --force to replace the file, or another name");
  if (done < 0) fail(path_, errno);
  unlink(temporary_.c_str());  // after link
  guard(nullptr);
  temporary_.clear();
}

}  // namespace fsr
