// SPDX-License-Identifier: Apache-2.0
#include "fuse_session.hpp"

#include <linux/io_uring.h>
#include <poll.h>
#include <stdio_ext.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>

#include "capture_error.hpp"
#include "connection.hpp"

namespace fsr::shim {

namespace {

constexpr unsigned kMaxThreads = 512;  // requests that may block on the underlying file system at the same time
constexpr unsigned kIdleThreads = 16;
constexpr int kLockTimeout = 5;  // seconds for interrupted lock requests, which a dead server's file system may hold for good

const fuse_lowlevel_ops& operations() {
  static const fuse_lowlevel_ops all = [] {
    fuse_lowlevel_ops ops = {};
    add_session_operations(ops);
    add_attribute_operations(ops);
    add_name_operations(ops);
    add_open_operations(ops);
    add_data_operations(ops);
    add_directory_operations(ops);
    add_lock_operations(ops);
    add_xattr_operations(ops);
    return ops;
  }();
  return all;
}

}  // namespace

FuseSession::FuseSession(Shim& shim, int fuse_fd, bool uring) {
  std::string name = "fsshim", option = "-oio_uring,io_uring_q_depth=" + std::to_string(kRingEntries);
  char* argv[] = {name.data(), option.data(), nullptr};
  fuse_args args = FUSE_ARGS_INIT(uring ? 2 : 1, argv);
  session_ = fuse_session_new(&args, &operations(), sizeof(fuse_lowlevel_ops), &shim);
  fuse_opt_free_args(&args);
  if (!session_) throw CaptureError("libfuse could not create a session");
  if (int error = attach_connection(session_, fuse_fd); error != 0) {
    fuse_session_destroy(session_);
    throw failed("the FUSE connection", -error);
  }
  ended_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

bool FuseSession::stop() {
  if (loop_.joinable()) {
    while (!ended()) {
      fuse_session_exit(session_);
      interrupt_all_locks();
      pthread_kill(loop_.native_handle(), SIGUSR1);
      wait_ended(50);
    }
    loop_.join();
  }
  return finish_all_locks(kLockTimeout);
}

int FuseSession::connection_fd() const { return fuse_session_fd(session_); }

FuseSession::~FuseSession() {
  while (!stop()) continue;
  fuse_session_destroy(session_);
  close(ended_fd_);
}

void FuseSession::start() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};  // interrupts the loop's wait, so that it sees that it should exit
  sigaction(SIGUSR1, &action, nullptr);
  // libfuse cancels its workers. A worker that is cancelled while it prints a message would keep the lock of stderr, and exit(3)
  // would wait for it.
  __fsetlocking(stderr, FSETLOCKING_BYCALLER);
  loop_ = std::thread([this] {
    sigset_t wake;
    sigemptyset(&wake);
    sigaddset(&wake, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
    fuse_loop_config* config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, kMaxThreads);
    fuse_loop_cfg_set_idle_threads(config, kIdleThreads);
    fuse_session_loop_mt(session_, config);
    fuse_loop_cfg_destroy(config);
    ended_.store(true);
    uint64_t one = 1;
    (void)!write(ended_fd_, &one, sizeof one);
  });
}

bool FuseSession::over_uring() const {
  for (int i = 0; i < 500 && transport() == Transport::unknown && !ended(); ++i) usleep(10'000);
  return transport() == Transport::uring;
}

std::string transport_text(bool uring) {
  return std::string(uring ? "io_uring" : "/dev/fuse") + ", libfuse " + fuse_pkgversion();
}

std::string uring_problem() {
#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 18)
  return std::string("FUSE over io_uring requires libfuse 3.18 or newer; this fsshim has ") + fuse_pkgversion();
#else
  std::ifstream file("/sys/module/fuse/parameters/enable_uring");
  char value = 0;
  if (!(file >> value)) return "this kernel has no FUSE over io_uring: Linux 6.14 or newer is required";
  if (value != 'Y') return "FUSE over io_uring is off: echo Y >/sys/module/fuse/parameters/enable_uring";
  io_uring_params parameters{};
  const long ring = syscall(SYS_io_uring_setup, 1, &parameters);
  if (ring < 0) return std::string("io_uring: ") + strerror(errno);
  close(int(ring));
  return {};
#endif
}

bool FuseSession::wait_ended(int milliseconds) const {
  pollfd fd = {ended_fd_, POLLIN, 0};
  if (!ended()) poll(&fd, 1, milliseconds);
  return ended();
}

}  // namespace fsr::shim
