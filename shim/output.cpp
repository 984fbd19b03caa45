// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

#include "capture_error.hpp"
#include "is_below.hpp"
#include "mix/nfsstat_writer.hpp"
#include "trace/series.hpp"
#include "util/unique_fd.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

constexpr off_t kMixBytes = 4096;  // a mixfile has about 1 KB

std::string base_name(const std::string& path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string default_name(const std::string& directory) {
  std::string name = base_name(directory);
  if (name.empty()) name = "root";
  time_t now = time(nullptr);
  tm utc;
  gmtime_r(&now, &utc);
  char stamp[32];
  strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
  return name + "-" + stamp + ".zst";
}

int make_file(int directory, const std::string& path) {
  int fd = openat(directory, base_name(path).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  struct stat there;
  if (fd < 0 && errno == EEXIST && fstatat(directory, base_name(path).c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISFIFO(there.st_mode))
    throw CaptureError(path + ": is a pipe; lead standard output into it, and give -o -");
  if (fd < 0 && errno == EEXIST) throw CaptureError(path + ": exists already; give another file with -o, or remove this file");
  if (fd < 0) throw failed(path, errno);
  fchmod(fd, 0600);
  return fd;
}

// Throws CaptureError, which names all of them, if several of these files exist. A killed capture leaves several.
void refuse_left_files(int directory, const std::vector<std::string>& paths) {
  std::string left;
  unsigned count = 0;
  for (const std::string& path : paths) {
    struct stat there;
    if (fstatat(directory, base_name(path).c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 || S_ISFIFO(there.st_mode)) continue;
    left += (count++ ? ", " : "") + path;
  }
  if (count > 1) throw CaptureError(left + ": exist already; give another file with -o, or remove these files");
}

// Takes over standard output for the trace. From then on, what is printed there goes to standard error, also by the command.
int take_standard_output(int root_fd) {
  const std::string name = "-o -";
  struct stat s;
  if (fstat(STDOUT_FILENO, &s) != 0) throw failed(name, errno);
  if (isatty(STDOUT_FILENO)) throw CaptureError(name + ": standard output is a terminal; pipe it into a program, or give a file");
  if (!S_ISREG(s.st_mode) && !S_ISFIFO(s.st_mode) && !S_ISSOCK(s.st_mode))
    throw CaptureError(name + ": expected a pipe, a socket or an empty file as standard output");
  struct stat other;
  if (fstat(STDERR_FILENO, &other) == 0 && other.st_dev == s.st_dev && other.st_ino == s.st_ino)
    throw CaptureError(name + ": messages on standard error would get into the trace; lead them elsewhere");
  if (S_ISREG(s.st_mode)) {
    if (s.st_size != 0) throw CaptureError(name + ": expected an empty file as standard output");
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/fd/1", path, sizeof path);
    const UniqueFd fd(
        open(parent_of(std::string(path, size_t(std::max<ssize_t>(n, 0)))).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() >= 0 && is_below(fd.get(), root_fd))
      throw CaptureError(name + ": standard output lies inside the captured directory");
  }
  // A reader that stands still must not hold this process for ever (TraceWriter). The pipe is opened anew for that, because
  // others may use the old descriptor.
  const int fd = S_ISFIFO(s.st_mode) ? open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                                     : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) throw failed(name, errno);
  return fd;
}

}  // namespace

CaptureOutput::CaptureOutput(const std::string& trace, const std::string& directory, int root_fd, bool series, bool log)
    : trace_(trace.empty() ? default_name(directory) : trace), series_(series) {
  if (is_stream()) {
    if (series) throw CaptureError("-o -: a stream has no pieces; leave --rotate out, or give a file");
    if (log) throw CaptureError("-o -: not possible with --background; give a file");
    trace_fd_ = take_standard_output(root_fd);
    return;
  }
  if (base_name(trace_).empty()) throw CaptureError(trace_ + ": expected a file name");
  const std::string stem = trace_.ends_with(".zst") ? trace_.substr(0, trace_.size() - 4) : trace_;
  mix_ = stem + ".mix";
  log_ = stem + ".log";
  const std::string parent = parent_of(trace_);
  directory_fd_ = open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory_fd_ < 0) throw failed(parent, errno);
  try {
    if (is_below(directory_fd_, root_fd))
      throw CaptureError(trace_ + ": would lie inside the captured directory; give a path outside with -o");
    refuse_left_files(directory_fd_, log ? std::vector{first_file(), mix_, log_} : std::vector{first_file(), mix_});
    trace_fd_ = make_file(directory_fd_, first_file());
    mix_fd_ = make_file(directory_fd_, mix_);
    if (log) log_fd_ = make_file(directory_fd_, log_);
    // Reserve space for the mix, so that it can be written even if the trace fills the disk. Ignore errors, because some file
    // systems can't reserve space.
    (void)!fallocate(mix_fd_, FALLOC_FL_KEEP_SIZE, 0, kMixBytes);
    struct statfs fs;
    if (fstatfs(trace_fd_, &fs) == 0) {
      uint64_t block = uint64_t(fs.f_bsize), left = uint64_t(fs.f_bavail) * block;
      if (const uint64_t needed = TraceSink::room_needed(uint64_t(fs.f_blocks) * block); left < needed)
        throw CaptureError(trace_ + ": only " + format_size(left) + " free on the file system of the trace, expected at least " +
                           format_size(needed));
    }
  } catch (const CaptureError&) {
    remove_files();
    throw;
  }
}

std::string CaptureOutput::first_file() const { return series_ ? piece_name(trace_, 1) : trace_; }

CaptureOutput::~CaptureOutput() {
  if (keep_)
    for (int* fd : {&trace_fd_, &mix_fd_, &log_fd_})
      if (*fd >= 0) close(std::exchange(*fd, -1));
  remove_files();
}

// Those still held, and the directory's descriptor.
void CaptureOutput::remove_files() {
  auto remove = [&](int& fd, const std::string& file, bool made) {
    if (fd >= 0) close(fd);
    if (made && !keep_ && !is_stream()) unlinkat(directory_fd_, base_name(file).c_str(), 0);
    fd = -1;
  };
  remove(trace_fd_, first_file(), trace_fd_ >= 0 || trace_taken_);
  remove(mix_fd_, mix_, mix_fd_ >= 0);
  remove(log_fd_, log_, log_fd_ >= 0);
  if (directory_fd_ >= 0) close(directory_fd_);
}

std::string CaptureOutput::full_name() const { return is_stream() ? trace_ : full_name_of(trace_); }
std::string CaptureOutput::log_name() const { return full_name_of(log_); }

std::string CaptureOutput::full_name_of(const std::string& file) const {
  char directory[PATH_MAX];
  ssize_t n = readlink(("/proc/self/fd/" + std::to_string(directory_fd_)).c_str(), directory, sizeof directory);
  return n > 0 ? std::string(directory, size_t(n)) + "/" + base_name(file) : file;
}

int CaptureOutput::open_piece(unsigned number) {
  if (is_stream()) throw CaptureError("-o -: a stream has no pieces");
  const std::string next = piece_name(trace_, number);
  const int fd = make_file(directory_fd_, next);
  if (series_) return fd;
  const std::string first = piece_name(trace_, 1);
  if (renameat2(directory_fd_, base_name(trace_).c_str(), directory_fd_, base_name(first).c_str(), RENAME_NOREPLACE) != 0) {
    const int error = errno;
    close(fd);
    unlinkat(directory_fd_, base_name(next).c_str(), 0);
    throw failed(first, error);
  }
  series_ = true;
  return fd;
}

void CaptureOutput::remove_piece(unsigned number) { unlinkat(directory_fd_, base_name(piece_name(trace_, number)).c_str(), 0); }

int CaptureOutput::take_trace_fd() {
  trace_taken_ = true;
  return std::exchange(trace_fd_, -1);
}

void CaptureOutput::write_mix(const std::array<uint64_t, kOpKinds>& counts) {
  if (is_stream()) return;
  std::string text = nfsstat_text(counts);
  if (write(mix_fd_, text.data(), text.size()) != ssize_t(text.size())) throw failed(mix_, errno);
  (void)!ftruncate(mix_fd_, off_t(text.size()));  // gives back what was reserved
  struct stat s;
  if (fstat(mix_fd_, &s) == 0 && s.st_nlink == 0) throw CaptureError(mix_ + ": removed during the capture");
}

}  // namespace fsr::shim
