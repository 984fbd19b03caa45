// SPDX-License-Identifier: Apache-2.0
// POSIX and open-file-description locks, flock.
//
// A request that has to wait does so in a thread of its own. A signal interrupts it, which may arrive just before
// the thread sleeps in the kernel; so the signal is repeated until the thread has answered.
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "connection.hpp"
#include "passthrough.hpp"
#include "proc_read.hpp"

namespace fsr::shim {

namespace {

constexpr int kWakeSignal = SIGUSR2;
// Lock requests that wait for one queue of io_uring. Each keeps an entry until it has its answer; others must be left for the
// requests that give locks up.
constexpr unsigned kWaitingInQueue = kRingEntries * 3 / 4;
constexpr int64_t kGoing = 50'000'000;  // ns: how long after a flush the release may be on its way

// Counts a request that waits among those of its queue. Each queue's requests come to a thread of its own.
class RingPlace {
 public:
  RingPlace() = default;
  ~RingPlace() {
    if (taken_) taken_->fetch_sub(1);
  }
  RingPlace(const RingPlace&) = delete;
  RingPlace& operator=(const RingPlace&) = delete;
  // Call this on the thread that received the request. False: too many requests wait already.
  bool take() {
    thread_local const auto queue = std::make_shared<std::atomic<unsigned>>(0);
    if (queue->load() >= kWaitingInQueue) return false;  // only this thread adds to it
    queue->fetch_add(1);
    taken_ = queue;
    return true;
  }

 private:
  std::shared_ptr<std::atomic<unsigned>> taken_;
};

// A lock request that waits. `request` lives here because its FUSE call has returned.
struct Waiting {
  explicit Waiting(fuse_req_t req, OpKind kind) : request(req, kind) {}
  Request request;
  Ring* ring = nullptr;
  bool counted = false;  // in Shim::waits
  RingPlace place;       // over io_uring
  std::atomic<bool> interrupted{false};
  pthread_t thread{};
};

std::mutex g_waiting_mutex;
std::set<Waiting*> g_waiting;         // requests whose thread may be asleep in the kernel
std::atomic<size_t> g_unanswered{0};  // of requests whose threads may use the Shim

void install_wake_signal() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};  // not ignored and no SA_RESTART: the sleeping call ends with EINTR
  sigaction(kWakeSignal, &action, nullptr);
}

void on_interrupt(fuse_req_t, void* data) {
  auto* waiting = static_cast<Waiting*>(data);
  waiting->interrupted.store(true);
  std::lock_guard lock(g_waiting_mutex);
  if (g_waiting.contains(waiting)) pthread_kill(waiting->thread, kWakeSignal);
}

void answer(std::unique_ptr<Waiting> waiting, int error) {
  Shim& shim = waiting->request.shim;
  Ring* ring = waiting->ring;
  if (waiting->counted) {
    std::lock_guard counting(shim.shares_mutex);
    shim.waits.give_back(waiting->request.caller.uid);
  }
  waiting->request.end(error);
  shim.recorder.give_back(ring);
  fuse_reply_err(waiting->request.req(), error);
}

// Sends the replies for the threads that waited. Over io_uring, the thread that sends a reply owns the next request of the ring
// entry. The kernel cancels that request when the thread ends, so this thread never does.
class Desk {
 public:
  Desk() {
    std::thread([this] { serve(); }).detach();
  }  // may throw std::system_error

  void hand_over(std::unique_ptr<Waiting> waiting, int error) {
    std::lock_guard lock(mutex_);
    answers_.emplace_back(std::move(waiting), error);
    wake_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !answers_.empty(); });
      auto answers = std::exchange(answers_, {});
      lock.unlock();
      for (auto& [waiting, error] : answers) {
        answer(std::move(waiting), error);
        g_unanswered.fetch_sub(1);
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::pair<std::unique_ptr<Waiting>, int>> answers_;
};

Desk& desk() {
  static Desk& desk = *new Desk;  // as long as the process: its thread may be at work when statics are destroyed
  return desk;
}

// `take` gets the lock, however long it takes; 0 or errno. `refusal`: the answer when no further request may wait.
void answer_from_thread(std::unique_ptr<Waiting> waiting, int refusal, std::function<int(Waiting&)> take) {
  Waiting* raw = waiting.get();
  if (transport() == Transport::uring && !raw->place.take()) return answer(std::move(waiting), refusal);
  {
    Shim& shim = raw->request.shim;
    std::lock_guard counting(shim.shares_mutex);
    raw->counted = shim.waits.try_take(raw->request.caller.uid);
  }
  if (!raw->counted) return answer(std::move(waiting), refusal);
  fuse_req_interrupt_func(raw->request.req(), on_interrupt, raw);
  g_unanswered.fetch_add(1);
  try {
    desk();  // opened here, where a failure can be answered
    std::thread([raw, take = std::move(take)] {
      sigset_t wake;
      sigemptyset(&wake);
      sigaddset(&wake, kWakeSignal);
      pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
      {
        std::lock_guard lock(g_waiting_mutex);
        raw->thread = pthread_self();
        g_waiting.insert(raw);
      }
      int error = take(*raw);
      fuse_req_interrupt_func(raw->request.req(), nullptr, nullptr);
      {
        std::lock_guard lock(g_waiting_mutex);
        g_waiting.erase(raw);
      }
      desk().hand_over(std::unique_ptr<Waiting>(raw), error);
    }).detach();
    (void)waiting.release();
  } catch (const std::system_error&) {
    fuse_req_interrupt_func(raw->request.req(), nullptr, nullptr);
    answer(std::move(waiting), refusal);
    g_unanswered.fetch_sub(1);
  }
}

// True if a lock on the file is about to be released. The kernel has sent the FLUSH of a close through which the lock was held.
// The RELEASE, which ends locks of flock(2) and of open file descriptions, comes a moment later, after close(2) has returned.
bool is_going(Shim& shim, const OpenHandle* asking) {
  const int64_t recently = shim.recorder.now() - kGoing;
  const ObjectId file = asking->inode->id;
  std::lock_guard lock(shim.handles_mutex);
  auto at = shim.perhaps_going.lower_bound({file, nullptr});
  while (at != shim.perhaps_going.end() && at->first == file) {
    const OpenHandle* h = at->second;
    if (h->flushed.load() <= recently) {
      at = shim.perhaps_going.erase(at);  // it stayed; its next flush notes it again
      continue;
    }
    if (h != asking && h->locked.load()) return true;
    ++at;
  }
  return false;
}

// `attempt(wait)` tries to take the lock; 0 or errno.
using Attempt = std::function<int(bool)>;

int wait_for(const Waiting& waiting, const Attempt& attempt) {
  int error;
  do {
    error = waiting.interrupted.load() ? EINTR : attempt(true);
  } while (error == EINTR && !waiting.interrupted.load());
  return error;
}

// Waits for a short time while the lock's holder is being closed. The time is limited, because a close of a duplicate descriptor
// looks the same as the last close, and keeps the lock.
int wait_a_moment(Shim& shim, const OpenHandle* h, const Attempt& attempt) {
  const int64_t until = shim.recorder.now() + kGoing;
  int error;
  bool going;
  do {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    going = is_going(shim, h) && shim.recorder.now() < until;
    error = attempt(false);
  } while (error == EAGAIN && going);
  return error;
}

// Performs a lock request on the calling thread, or on a thread of its own if the request has to wait. `fill` records what is
// requested, and returns the attempt.
template <class Fill>
void take_lock(fuse_req_t req, const fuse_file_info* fi, OpKind kind, bool may_wait, Fill fill) {
  auto waiting = std::make_unique<Waiting>(req, kind);
  Request& r = waiting->request;
  OpenHandle* h = r.handle(fi);
  r.op.object = h->inode->id;
  r.op.owner = fi->lock_owner;
  Attempt attempt = fill(r, h);
  waiting->ring = r.shim.recorder.borrow();
  if (may_wait) r.op.op_flags |= kOpWait;
  r.begin_in(waiting->ring);
  int error = attempt(false);
  if (error == EAGAIN && may_wait)
    return answer_from_thread(std::move(waiting), ENOLCK, [attempt](Waiting& w) { return wait_for(w, attempt); });
  if (error == EAGAIN) {
    // This thread must not wait: over io_uring it may be the one that receives the end of the lock.
    if (is_going(r.shim, h))
      return answer_from_thread(std::move(waiting), EAGAIN,
                                [&shim = r.shim, h, attempt](Waiting&) { return wait_a_moment(shim, h, attempt); });
    error = attempt(false);  // the lock may have been released since the first attempt
  }
  answer(std::move(waiting), error);
}

void fill_lock(Op& op, const struct flock& lock) {
  op.mode = uint32_t(lock.l_type);
  op.offset = uint64_t(lock.l_start);
  op.length = uint64_t(lock.l_len);
}

// Returns the descriptor for an owner's locks on a file, which can take a lock of `type`. Null: errno says why there is none.
std::shared_ptr<LockFile> lock_file(Shim& shim, OpenHandle* h, uint64_t owner, short type) {
  const LockKey key{h->inode->id, owner};
  auto suits = [type](const LockFile& f) { return type == F_UNLCK || (type == F_WRLCK ? f.writable : f.readable); };
  {
    std::lock_guard lock(shim.locks_mutex);
    if (auto at = shim.locks.find(key); at != shim.locks.end() && suits(*at->second)) return at->second;
  }
  auto file = std::make_shared<LockFile>();
  file->handle = h;
  if (!file->share.charge(shim, h->uid)) {
    errno = ENOLCK;
    return nullptr;
  }
  // For both types if possible; else as the application could open it.
  const ReopenScope again;
  int fd = open_lower(shim, h->fd, O_RDWR | O_NONBLOCK);
  int mode = O_RDWR;
  if (fd < 0) {
    mode = h->flags & O_ACCMODE;
    fd = open_lower(shim, h->fd, mode | O_NONBLOCK);
  }
  if (fd < 0) {
    errno = -fd;
    return nullptr;
  }
  file->fd = fd;
  file->readable = mode != O_WRONLY;
  file->writable = mode != O_RDONLY;
  h->lock_files.store(true);
  // Another thread of the owner may have been faster. The file that is not used is closed after the mutex is released.
  std::lock_guard lock(shim.locks_mutex);
  auto& slot = shim.locks[key];
  if (!slot || !suits(*slot)) std::swap(slot, file);
  return slot;
}

struct flock lower_lock(const struct flock& asked) {
  struct flock lock = asked;
  lock.l_whence = SEEK_SET;
  lock.l_pid = 0;  // required for open-file-description locks
  return lock;
}

// Calls `found(owner, range)` for each other owner that stands in the way, until one call says true. With the mutex held.
template <class Found>
bool any_blocker(const Shim& shim, const LockKey& asker, const LockRange& wanted, Found found) {
  for (auto at = shim.locks.lower_bound({asker.file, 0}); at != shim.locks.end() && at->first.file == asker.file; ++at) {
    if (at->first.owner == asker.owner) continue;
    const LockRange* range = at->second->ranges.conflict(wanted);
    if (range && found(at->first.owner, *range)) return true;
  }
  return false;
}

// True: if `asker` waited for `wanted`, owners would wait for each other in a circle. The caller holds the mutex.
bool would_deadlock(const Shim& shim, const LockKey& asker, const LockRange& wanted) {
  std::set<uint64_t> seen;
  std::vector<std::pair<LockKey, LockRange>> todo{{asker, wanted}};
  while (!todo.empty()) {
    auto [key, range] = todo.back();
    todo.pop_back();
    bool circle = any_blocker(shim, key, range, [&](uint64_t blocker, const LockRange&) {
      if (blocker == asker.owner) return true;
      if (!seen.insert(blocker).second) return false;
      for (auto [at, end] = shim.lock_waits.equal_range(blocker); at != end; ++at)
        todo.push_back({{at->second.first, blocker}, at->second.second});
      return false;
    });
    if (circle) return true;
  }
  return false;
}

// 0 or errno, EDEADLK included.
int wait_for_lock(Shim& shim, const LockKey& key, const LockRange& range, int fd, struct flock& lock) {
  std::unique_lock guard(shim.locks_mutex);
  if (would_deadlock(shim, key, range)) return EDEADLK;
  auto mine = shim.lock_waits.insert({key.owner, {key.file, range}});
  guard.unlock();
  int error = fcntl(fd, F_OFD_SETLKW, &lock) == 0 ? 0 : errno;
  guard.lock();
  shim.lock_waits.erase(mine);
  return error;
}

int set_lock(Shim& shim, OpenHandle* h, uint64_t owner, struct flock lock, const LockRange& range, bool wait) {
  auto file = lock_file(shim, h, owner, lock.l_type);
  if (!file) return errno;
  int error = wait                                       ? wait_for_lock(shim, {h->inode->id, owner}, range, file->fd, lock)
              : fcntl(file->fd, F_OFD_SETLK, &lock) == 0 ? 0
                                                         : errno;
  if (error != 0) return error == EACCES ? EAGAIN : error;
  std::lock_guard guard(shim.locks_mutex);
  if (lock.l_type == F_UNLCK) {
    file->ranges.clear(range);
  } else {
    file->ranges.set(range);
    h->locked.store(true);
  }
  return 0;
}

void setlk(fuse_req_t req, fuse_ino_t, fuse_file_info* fi, struct flock* asked, int sleep) {
  take_lock(req, fi, OpKind::setlk, sleep != 0, [&](Request& r, OpenHandle* h) {
    fill_lock(r.op, *asked);
    return [&shim = r.shim, h, owner = fi->lock_owner, lock = lower_lock(*asked), range = range_of(*asked)](bool wait) {
      return set_lock(shim, h, owner, lock, range, wait);
    };
  });
}

void getlk(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi, struct flock* asked) {
  Request r(req, OpKind::getlk);
  OpenHandle* h = r.handle(fi);
  r.op.object = r.inode(ino)->id;
  r.op.owner = fi->lock_owner;
  fill_lock(r.op, *asked);
  r.begin();
  struct flock lock = lower_lock(*asked);
  // Through the owner's own descriptor if there is one, so that its own locks don't stand in its way.
  std::shared_ptr<LockFile> own;
  {
    std::lock_guard guard(r.shim.locks_mutex);
    if (auto at = r.shim.locks.find({h->inode->id, fi->lock_owner}); at != r.shim.locks.end()) own = at->second;
  }
  if (fcntl(own ? own->fd : h->fd, F_OFD_GETLK, &lock) != 0) return r.fail(errno);
  if (lock.l_type != F_UNLCK && lock.l_pid <= 0) {
    // Held by this process for an application, or by a foreign open file description, which has no process.
    LockRange met = range_of(lock);
    met.exclusive = true;
    std::lock_guard guard(r.shim.locks_mutex);
    any_blocker(r.shim, {h->inode->id, fi->lock_owner}, met, [&](uint64_t, const LockRange& held) {
      lock.l_pid = held.pid;
      return true;
    });
  }
  r.op.result = uint64_t(lock.l_type);
  r.end(0);
  fuse_reply_lock(req, &lock);
}

int flock_lower(OpenHandle* h, int operation, bool wait) {
  int error = ::flock(h->fd, wait ? operation & ~LOCK_NB : operation | LOCK_NB) == 0 ? 0 : errno;
  if (error == 0) h->locked.store((operation & LOCK_UN) == 0);
  return error;
}

void flock(fuse_req_t req, fuse_ino_t, fuse_file_info* fi, int operation) {
  take_lock(req, fi, OpKind::flock, (operation & (LOCK_NB | LOCK_UN)) == 0, [&](Request& r, OpenHandle* h) {
    r.op.mode = uint32_t(operation & ~LOCK_NB);
    return [h, operation](bool wait) { return flock_lower(h, operation, wait); };
  });
}

}  // namespace

LockFile::~LockFile() {
  about_to_wait();
  if (fd >= 0) close(fd);
}

void close_locks_of(Shim& shim, const Inode* inode, uint64_t owner) {
  // Closes the file when the mutex is free again: a close may wait for the underlying file system.
  std::map<LockKey, std::shared_ptr<LockFile>>::node_type closing;
  std::lock_guard lock(shim.locks_mutex);
  closing = shim.locks.extract({inode->id, owner});
}

void close_locks_through(Shim& shim, const OpenHandle* handle) {
  if (!handle->lock_files.load()) return;
  std::vector<std::shared_ptr<LockFile>> closing;  // when the mutex is free again
  std::lock_guard lock(shim.locks_mutex);
  std::erase_if(shim.locks, [&](const auto& entry) {
    if (entry.second->handle != handle) return false;
    closing.push_back(entry.second);
    return true;
  });
}

void note_flush(Shim& shim, OpenHandle* handle) {
  if (!handle->locked.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(shim.handles_mutex);
  handle->flushed.store(shim.recorder.now());
  shim.perhaps_going.emplace(handle->inode->id, handle);
}

// True: a thread that waits in a request has a pending signal that it does not block.
static bool signal_pending(pid_t tid) {
  ThreadStatus status;
  return read_status(tid, status) && (status.signals_pending & ~status.signals_blocked) != 0;
}

void remind_interrupted_locks() {
  std::lock_guard lock(g_waiting_mutex);
  // libfuse does not pass interruptions on to requests that came over io_uring.
  if (transport() == Transport::uring)
    for (Waiting* waiting : g_waiting)
      if (signal_pending(waiting->request.caller.tid)) waiting->interrupted.store(true);
  for (Waiting* waiting : g_waiting)
    if (waiting->interrupted.load()) pthread_kill(waiting->thread, kWakeSignal);
}

void interrupt_all_locks() {
  {
    std::lock_guard lock(g_waiting_mutex);
    for (Waiting* waiting : g_waiting) waiting->interrupted.store(true);
  }
  remind_interrupted_locks();
}

bool finish_all_locks(int seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (g_unanswered.load() != 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    interrupt_all_locks();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void add_lock_operations(fuse_lowlevel_ops& ops) {
  install_wake_signal();
  ops.getlk = uncancelled<getlk>;
  ops.setlk = uncancelled<setlk>;
  ops.flock = uncancelled<flock>;
}

}  // namespace fsr::shim
