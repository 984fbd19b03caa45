// SPDX-License-Identifier: Apache-2.0
#include "page_drops.hpp"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "abort.hpp"
#include "capture_error.hpp"
#include "helper_process.hpp"

namespace fsr::shim {

namespace {

using namespace std::chrono_literals;

constexpr auto kUse = 1ms;     // for the caller to use the pages
constexpr auto kTimeout = 1s;  // with the kernel, when no thread is left to answer reads
constexpr int kEndMs = 3000;   // for that process to end, far more than kTimeout; a user may have stopped it

struct Message {
  enum class Kind : uint64_t { connection, filled } kind;
  uint64_t value;
};

// The process that sends the notifications to the kernel.
class Dropper {
 public:
  explicit Dropper(int fuse_fd) : fuse_fd_(fuse_fd) {}

  [[noreturn]] void serve(int pipe) {
    std::thread([this] { drop(); }).detach();
    Message batch[256];
    unsigned connection = 0;
    for (ssize_t n; (n = read(pipe, batch, sizeof batch)) > 0;) {
      std::lock_guard lock(mutex_);
      for (size_t i = 0; i < size_t(n) / sizeof(Message); ++i)
        if (batch[i].kind == Message::Kind::connection)
          connection = unsigned(batch[i].value);
        else
          nodes_.insert(batch[i].value);
      changed_.notify_all();
    }
    std::unique_lock lock(mutex_);
    nodes_.clear();
    // Only a connection that is still there can hold it up, so the number is still its own.
    if (!changed_.wait_for(lock, kTimeout, [this] { return !busy_; })) abort_connection(connection);
    _exit(0);  // with a thread that waits
  }

 private:
  void drop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !nodes_.empty(); });
      lock.unlock();
      std::this_thread::sleep_for(kUse);
      lock.lock();
      std::set<uint64_t> nodes;
      nodes.swap(nodes_);
      busy_ = true;
      lock.unlock();
      for (uint64_t node : nodes) invalidate(node);
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  // Drops all pages of the inode. An inode that the kernel has forgotten has no pages.
  void invalidate(uint64_t node) {
    struct {
      fuse_out_header header;
      fuse_notify_inval_inode_out body;
    } message{{sizeof message, FUSE_NOTIFY_INVAL_INODE, 0}, {node, 0, 0}};
    (void)!write(fuse_fd_, &message, sizeof message);
  }

  const int fuse_fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<uint64_t> nodes_;
  bool busy_ = false;
};

}  // namespace

PageDrops::PageDrops(int fuse_fd) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe", errno);
  pid_ = start_helper({ends[0], fuse_fd}, [&] { Dropper(fuse_fd).serve(ends[0]); });
  const int error = errno;
  close(ends[0]);
  pipe_ = ends[1];
  if (pid_ < 0) {
    close(pipe_);
    throw failed("fork", error);
  }
  // Full only while that process is held up; pages that are filled meanwhile stay.
  fcntl(pipe_, F_SETFL, O_NONBLOCK);
}

PageDrops::~PageDrops() {
  unwritten_.reset();
  close(pipe_);
  for (int waited = 0; waitpid(pid_, nullptr, WNOHANG) == 0; waited += 10) {
    if (waited >= kEndMs) {
      kill(pid_, SIGKILL);
      return;
    }
    usleep(10'000);
  }
}

void PageDrops::connection(unsigned number) {
  const Message message{Message::Kind::connection, number};
  (void)!write(pipe_, &message, sizeof message);
  unwritten_ = std::make_unique<UnwrittenFiles>([this](uint64_t node) { filled(node); });
}

void PageDrops::filled(uint64_t node) {
  used_.store(true, std::memory_order_relaxed);
  const Message message{Message::Kind::filled, node};
  if (write(pipe_, &message, sizeof message) < 0) lost_.store(true, std::memory_order_relaxed);
}

}  // namespace fsr::shim
