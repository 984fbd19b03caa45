// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

#include "capture_error.hpp"
#include "is_below.hpp"
#include "mix/nfsstat_writer.hpp"
#include "trace/series.hpp"
#include "util/units.hpp"

namespace fsr::shim {

namespace {

constexpr off_t kMixBytes = 4096;  // a mixfile has about 1 KB

std::string base_name(const std::string& path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
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
  if (fd < 0 && errno == EEXIST) throw CaptureError(path + ": exists already; give another file with -o, or remove this file");
  if (fd < 0) throw failed(path, errno);
  fchmod(fd, 0600);
  return fd;
}

}  // namespace

CaptureOutput::CaptureOutput(const std::string& trace, const std::string& directory, int root_fd, bool series, bool log)
    : trace_(trace.empty() ? default_name(directory) : trace), series_(series) {
  if (trace_ == "-")
    throw CaptureError(
        "-o -: standard output is not possible, because the mixfile is written beside the trace; give a file (a file named -: "
        "./-)");
  if (base_name(trace_).empty()) throw CaptureError(trace_ + ": expected a file name");
  const std::string stem = trace_.ends_with(".zst") ? trace_.substr(0, trace_.size() - 4) : trace_;
  mix_ = stem + ".mix";
  log_ = stem + ".log";
  size_t slash = trace_.find_last_of('/');
  std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : trace_.substr(0, slash);
  directory_fd_ = open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory_fd_ < 0) throw failed(parent, errno);
  try {
    if (is_below(directory_fd_, root_fd))
      throw CaptureError(trace_ + ": would lie inside the captured directory; give a path outside with -o");
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
    if (made && !keep_) unlinkat(directory_fd_, base_name(file).c_str(), 0);
    fd = -1;
  };
  remove(trace_fd_, first_file(), trace_fd_ >= 0 || trace_taken_);
  remove(mix_fd_, mix_, mix_fd_ >= 0);
  remove(log_fd_, log_, log_fd_ >= 0);
  if (directory_fd_ >= 0) close(directory_fd_);
}

std::string CaptureOutput::full_name() const { return full_name_of(trace_); }
std::string CaptureOutput::log_name() const { return full_name_of(log_); }

std::string CaptureOutput::full_name_of(const std::string& file) const {
  char directory[PATH_MAX];
  ssize_t n = readlink(("/proc/self/fd/" + std::to_string(directory_fd_)).c_str(), directory, sizeof directory);
  return n > 0 ? std::string(directory, size_t(n)) + "/" + base_name(file) : file;
}

int CaptureOutput::open_piece(unsigned number) {
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
  std::string text = nfsstat_text(counts);
  if (write(mix_fd_, text.data(), text.size()) != ssize_t(text.size())) throw failed(mix_, errno);
  (void)!ftruncate(mix_fd_, off_t(text.size()));  // gives back what was reserved
  struct stat s;
  if (fstat(mix_fd_, &s) == 0 && s.st_nlink == 0) throw CaptureError(mix_ + ": removed during the capture");
}

}  // namespace fsr::shim
