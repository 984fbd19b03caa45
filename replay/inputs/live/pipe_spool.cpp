// SPDX-License-Identifier: Apache-2.0
#include "inputs/live/pipe_spool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "trace/spool.hpp"

namespace fsr {

namespace {

constexpr size_t kBuffer = 256 << 10;
constexpr int kPipe = 1 << 20;         // bytes that the second pipe holds
constexpr uint64_t kFreed = 16 << 20;  // bytes of the file that are given back together

}  // namespace

PipeSpool::PipeSpool(int fd, uint64_t most)
    : most_(most), in_(fd), file_(unnamed_file()), stop_(eventfd(0, EFD_CLOEXEC)), buffer_(kBuffer) {
  int ends[2];
  if (!stop_ || pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  reading_ = UniqueFd(ends[0]);
  out_ = UniqueFd(ends[1]);
  fcntl(out_.get(), F_SETPIPE_SZ, kPipe);  // may be refused; a smaller one serves as well
  fcntl(out_.get(), F_SETFL, O_NONBLOCK);
  thread_ = std::thread([this] { work(); });
}

PipeSpool::~PipeSpool() {
  const uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  thread_.join();
}

int PipeSpool::take_out() { return reading_.release(); }

void PipeSpool::work() {
  for (bool going = true; going;) {
    const bool kept = write_at_ > read_at_, room = write_at_ - read_at_ < most_ && !failure();
    if (kept && !room) full_.store(true, std::memory_order_relaxed);
    if (ended_ && !kept) break;
    // Without kept bytes, those that come are passed on directly.
    pollfd fds[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                    {.fd = !ended_ && (room || !kept) ? in_.get() : -1, .events = POLLIN, .revents = 0},
                    {.fd = out_.get(), .events = short(kept ? POLLOUT : 0), .revents = 0}};
    if (poll(fds, 3, -1) < 0) continue;  // EINTR
    if (fds[0].revents || (fds[2].revents & (POLLERR | POLLHUP))) break;
    if (fds[2].revents & POLLOUT) going = pass_on();
    if (going && fds[1].revents) going = receive();
  }
  out_ = UniqueFd();
}

// Writes what the second pipe takes. False: its reader has closed it.
bool PipeSpool::send(const char* data, size_t size, size_t& sent) {
  for (sent = 0; sent < size;) {
    const ssize_t n = write(out_.get(), data + sent, size - sent);
    if (n > 0) sent += size_t(n);
    if (n < 0 && errno == EAGAIN) return true;
    if (n < 0 && errno != EINTR) return false;
  }
  return true;
}

bool PipeSpool::receive() {
  const ssize_t n = read(in_.get(), buffer_.data(), buffer_.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  ended_ = n == 0;
  size_t sent = 0;
  if (write_at_ == read_at_ && !send(buffer_.data(), size_t(n), sent)) return false;
  keep(buffer_.data() + sent, size_t(n) - sent);
  return true;
}

// Appends to the file. If the file takes no more, waits until the reader has taken these bytes: the pipe fills meanwhile.
void PipeSpool::keep(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = failure() ? -1 : pwrite(file_.get(), data, size, off_t(write_at_));
    if (n > 0) {
      data += n;
      size -= size_t(n);
      write_at_ += uint64_t(n);
      continue;
    }
    if (!failure() && errno == EINTR) continue;
    if (!failure()) failure_.store(n < 0 ? errno : EIO, std::memory_order_relaxed);
    pollfd fds[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0}, {.fd = out_.get(), .events = POLLOUT, .revents = 0}};
    if (poll(fds, 2, -1) < 0) continue;
    if (fds[0].revents || (fds[1].revents & (POLLERR | POLLHUP))) return;
    if (write_at_ > read_at_) {
      if (!pass_on()) return;
      continue;
    }
    size_t sent = 0;
    if (!send(data, size, sent)) return;
    data += sent;
    size -= sent;
  }
  waiting_.store(write_at_ - read_at_, std::memory_order_relaxed);
  seen_.store(std::max(most_seen(), waiting()), std::memory_order_relaxed);
}

// Passes on what the file holds, as far as the second pipe takes it. False: its reader has closed it, or the file has an error.
bool PipeSpool::pass_on() {
  std::vector<char> part(std::min<uint64_t>(kBuffer, write_at_ - read_at_));
  const ssize_t n = pread(file_.get(), part.data(), part.size(), off_t(read_at_));
  if (n <= 0) {
    failure_.store(n < 0 ? errno : EIO, std::memory_order_relaxed);
    return n < 0 && errno == EINTR;
  }
  size_t sent = 0;
  if (!send(part.data(), size_t(n), sent)) return false;
  read_at_ += sent;
  if (read_at_ == write_at_) {
    read_at_ = write_at_ = freed_to_ = 0;
    (void)!ftruncate(file_.get(), 0);
  } else if (read_at_ - freed_to_ >= kFreed) {
    // A file system without holes keeps the space until all is read.
    (void)!fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(freed_to_), off_t(read_at_ - freed_to_));
    freed_to_ = read_at_;
  }
  waiting_.store(write_at_ - read_at_, std::memory_order_relaxed);
  return true;
}

}  // namespace fsr
