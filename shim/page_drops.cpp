// SPDX-License-Identifier: Apache-2.0
#include "page_drops.hpp"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "abort.hpp"
#include "capture_error.hpp"
#include "helper_process.hpp"

namespace fsr::shim {

namespace {

using namespace std::chrono_literals;

constexpr auto kUse = 1ms;        // for the caller to use the pages
constexpr auto kTimeout = 1s;     // with the kernel, when no thread is left to answer reads
constexpr int kDropEndMs = 3000;  // for that process to end, far more than kTimeout; a user may have stopped it
constexpr int kThreads = 32;      // files whose reads hang, while pages of others are dropped in time

struct Message {
  enum class Kind : uint64_t { connection, filled } kind;
  uint64_t value;
};

// The process that sends the notifications to the kernel. Each of its threads may be held up by one inode.
class Dropper {
 public:
  Dropper(int fuse_fd, std::atomic<bool>& held_up) : fuse_fd_(fuse_fd), held_up_(held_up) {}

  [[noreturn]] void serve(int pipe) {
    Message batch[256];
    unsigned connection = 0;
    for (ssize_t n; (n = read_when_there(pipe, batch, sizeof batch)) > 0;) {
      std::lock_guard lock(mutex_);
      for (size_t i = 0; i < size_t(n) / sizeof(Message); ++i)
        if (batch[i].kind == Message::Kind::connection)
          connection = unsigned(batch[i].value);
        else
          add(batch[i].value);
    }
    std::unique_lock lock(mutex_);
    waiting_.clear();
    // Only a connection that is still there can hold it up, so the number is still its own.
    if (!changed_.wait_for(lock, kTimeout, [this] { return busy_ == 0; })) abort_connection(connection);
    _exit(0);  // with threads that wait
  }

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { waiting, busy, busy_again };
  struct Waiting {
    uint64_t node;
    Clock::time_point due;
  };

  // read(2). Sets held_up_ if meanwhile pages wait for long, because each thread is held up.
  ssize_t read_when_there(int pipe, Message* batch, size_t size) {
    pollfd from{pipe, POLLIN, 0};
    for (;;) {
      std::unique_lock lock(mutex_);
      const bool waits = !waiting_.empty();
      if (waits && waiting_.front().due + kTimeout < Clock::now()) held_up_.store(true, std::memory_order_relaxed);
      lock.unlock();
      if (poll(&from, 1, waits ? int(kTimeout / 1ms) : -1) > 0) return read(pipe, batch, size);
    }
  }

  void add(uint64_t node) {
    if (auto [known, added] = nodes_.emplace(node, State::waiting); !added) {
      if (known->second == State::busy) known->second = State::busy_again;
      return;
    }
    waiting_.push_back({node, Clock::now() + kUse});
    if (waiting_.size() > idle_ && threads_ < kThreads) {
      try {
        std::thread([this] { drop(); }).detach();
        ++threads_;
      } catch (const std::system_error&) {  // the others go on
      }
    }
    added_.notify_one();
  }

  void drop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      added_.wait(lock, [this] { return !waiting_.empty(); });
      --idle_;
      const auto [node, due] = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      std::this_thread::sleep_until(due);
      lock.lock();
      nodes_[node] = State::busy;
      ++busy_;
      lock.unlock();
      invalidate(node);
      lock.lock();
      --busy_;
      const bool again = nodes_[node] == State::busy_again;
      nodes_.erase(node);
      if (again) add(node);
      changed_.notify_one();
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
  std::atomic<bool>& held_up_;
  std::mutex mutex_;
  std::condition_variable added_;    // to waiting_
  std::condition_variable changed_;  // busy_ became less
  std::deque<Waiting> waiting_;      // ascending by due
  std::map<uint64_t, State> nodes_;  // in waiting_, or taken from it
  size_t idle_ = 0;                  // threads, also those that are about to take one
  int threads_ = 0, busy_ = 0;
};

}  // namespace

PageDrops::PageDrops(int fuse_fd) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe", errno);
  void* shared = mmap(nullptr, sizeof *lost_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw failed("mmap", errno);
  lost_ = new (shared) std::atomic<bool>(false);
  pid_ = start_helper({ends[0], fuse_fd}, [&] { Dropper(fuse_fd, *lost_).serve(ends[0]); });
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
  munmap(lost_, sizeof *lost_);
  close(pipe_);
  for (int waited = 0; waitpid(pid_, nullptr, WNOHANG) == 0; waited += 10) {
    if (waited >= kDropEndMs) {
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
  if (write(pipe_, &message, sizeof message) < 0) lost_->store(true, std::memory_order_relaxed);
}

}  // namespace fsr::shim
