// SPDX-License-Identifier: Apache-2.0
// POSIX and open-file-description locks, flock.
//
// A request that has to wait does so in a thread of its own. An interrupted one is told by a signal, which may arrive just before
// the thread sleeps in the kernel; so the signal is repeated until the thread has answered.
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <set>
#include <thread>

#include "passthrough.hpp"

namespace fsr {

namespace {

constexpr int kWakeSignal = SIGUSR2;

// A lock request that waits. `request` lives here because its FUSE call has returned.
struct Waiting {
  explicit Waiting(fuse_req_t req, OpKind kind) : request(req, kind) {}
  Request request;
  Ring* ring = nullptr;
  std::atomic<bool> interrupted{false};
  pthread_t thread{};
};

std::mutex g_waiting_mutex;
std::set<Waiting*> g_waiting;  // whose thread may be asleep in the kernel

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
  waiting->request.end(error);
  shim.recorder.give_back(ring);
  fuse_reply_err(waiting->request.req(), error);
}

// `attempt(wait)` tries to take the lock; 0 or errno.
void wait_in_thread(std::unique_ptr<Waiting> waiting, std::function<int(bool)> attempt) {
  Waiting* raw = waiting.get();
  fuse_req_interrupt_func(raw->request.req(), on_interrupt, raw);
  try {
    std::thread([raw, attempt = std::move(attempt)] {
      sigset_t wake;
      sigemptyset(&wake);
      sigaddset(&wake, kWakeSignal);
      pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
      {
        std::lock_guard lock(g_waiting_mutex);
        raw->thread = pthread_self();
        g_waiting.insert(raw);
      }
      int error;
      do {
        error = raw->interrupted.load() ? EINTR : attempt(true);
      } while (error == EINTR && !raw->interrupted.load());
      fuse_req_interrupt_func(raw->request.req(), nullptr, nullptr);
      {
        std::lock_guard lock(g_waiting_mutex);
        g_waiting.erase(raw);
      }
      answer(std::unique_ptr<Waiting>(raw), error);
    }).detach();
    (void)waiting.release();
  } catch (const std::system_error&) {
    fuse_req_interrupt_func(raw->request.req(), nullptr, nullptr);
    answer(std::move(waiting), ENOLCK);
  }
}

// A lock request on the calling thread, or in one of its own when it may wait and has to.
template <class Fill>
void take_lock(fuse_req_t req, OpKind kind, bool may_wait, Fill fill) {
  auto waiting = std::make_unique<Waiting>(req, kind);
  Request& r = waiting->request;
  std::function<int(bool)> attempt = fill(r);
  waiting->ring = r.shim.recorder.borrow();
  if (may_wait) r.op.op_flags |= kOpWait;
  r.begin_in(waiting->ring);
  int error = attempt ? attempt(false) : EBADF;
  if (error == EACCES) error = EAGAIN;
  if (may_wait && error == EAGAIN) return wait_in_thread(std::move(waiting), std::move(attempt));
  answer(std::move(waiting), error);
}

void fill_lock(Op& op, const struct flock& lock, uint64_t owner) {
  op.owner = owner;
  op.mode = uint32_t(lock.l_type);
  op.offset = uint64_t(lock.l_start);
  op.length = uint64_t(lock.l_len);
}

// The descriptor for an owner's locks on a file, able to take a lock of that type. Null and errno when it can't be had.
std::shared_ptr<LockFile> lock_file(Shim& shim, OpenHandle* h, uint64_t owner, short type) {
  std::lock_guard lock(shim.locks_mutex);
  auto& slot = shim.locks[{h->inode, owner}];
  if (slot && (type == F_UNLCK || (type == F_WRLCK ? slot->writable : slot->readable))) return slot;
  auto file = std::make_shared<LockFile>();
  file->handle = h;
  // For both types if possible; else as the application could open it.
  int fd = open_lower(shim, h->fd, O_RDWR | O_NONBLOCK);
  int mode = O_RDWR;
  if (fd < 0) {
    mode = h->flags & O_ACCMODE;
    fd = open_lower(shim, h->fd, mode | O_NONBLOCK);
  }
  if (fd < 0) {
    errno = -fd;
    if (!slot) shim.locks.erase({h->inode, owner});
    return nullptr;
  }
  file->fd = fd;
  file->readable = mode != O_WRONLY;
  file->writable = mode != O_RDONLY;
  return slot = file;
}

struct flock lower_lock(const struct flock& asked) {
  struct flock lock = asked;
  lock.l_whence = SEEK_SET;
  lock.l_pid = 0;  // required for open-file-description locks
  return lock;
}

void setlk(fuse_req_t req, fuse_ino_t, fuse_file_info* fi, struct flock* asked, int sleep) {
  uint64_t owner = fi->lock_owner;
  take_lock(req, OpKind::setlk, sleep != 0, [&](Request& r) -> std::function<int(bool)> {
    OpenHandle* h = r.handle(fi);
    r.op.object = h->inode->id;
    fill_lock(r.op, *asked, owner);
    Shim& shim = r.shim;
    return [&shim, h, owner, lock = lower_lock(*asked)](bool wait) mutable {
      auto file = lock_file(shim, h, owner, lock.l_type);
      if (!file) return errno;
      return fcntl(file->fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock) == 0 ? 0 : errno;
    };
  });
}

void getlk(fuse_req_t req, fuse_ino_t ino, fuse_file_info* fi, struct flock* asked) {
  Request r(req, OpKind::getlk);
  OpenHandle* h = r.handle(fi);
  r.op.object = r.inode(ino)->id;
  fill_lock(r.op, *asked, fi->lock_owner);
  r.begin();
  struct flock lock = lower_lock(*asked);
  // Through the owner's own descriptor if there is one, so that its own locks don't stand in its way.
  std::shared_ptr<LockFile> own;
  {
    std::lock_guard guard(r.shim.locks_mutex);
    if (auto at = r.shim.locks.find({h->inode, fi->lock_owner}); at != r.shim.locks.end()) own = at->second;
  }
  if (fcntl(own ? own->fd : h->fd, F_OFD_GETLK, &lock) != 0) return r.fail(errno);
  r.op.result = uint64_t(lock.l_type);
  r.end(0);
  fuse_reply_lock(req, &lock);
}

void flock(fuse_req_t req, fuse_ino_t, fuse_file_info* fi, int operation) {
  take_lock(req, OpKind::flock, (operation & (LOCK_NB | LOCK_UN)) == 0, [&](Request& r) -> std::function<int(bool)> {
    OpenHandle* h = r.handle(fi);
    r.op.object = h->inode->id;
    r.op.owner = fi->lock_owner;
    r.op.mode = uint32_t(operation & ~LOCK_NB);
    return [fd = h->fd, operation](bool wait) {
      int op = wait ? operation & ~LOCK_NB : operation | LOCK_NB;
      return ::flock(fd, op) == 0 ? 0 : errno;
    };
  });
}

}  // namespace

LockFile::~LockFile() {
  if (fd >= 0) close(fd);
}

void close_locks_of(Shim& shim, const Inode* inode, uint64_t owner) {
  std::lock_guard lock(shim.locks_mutex);
  shim.locks.erase({inode, owner});
}

void close_locks_through(Shim& shim, const OpenHandle* handle) {
  std::lock_guard lock(shim.locks_mutex);
  std::erase_if(shim.locks, [handle](const auto& entry) { return entry.second->handle == handle; });
}

void remind_interrupted_locks() {
  std::lock_guard lock(g_waiting_mutex);
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

void add_lock_operations(fuse_lowlevel_ops& ops) {
  install_wake_signal();
  ops.getlk = getlk;
  ops.setlk = setlk;
  ops.flock = flock;
}

}  // namespace fsr
