// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <linux/magic.h>
#include <poll.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <shared_mutex>

#include "plain_calls.hpp"
#include "targets/lock_timeout.hpp"

namespace fsr {
namespace {

constexpr size_t kMostOnRing = 8 << 20;    // bytes of one read or write
constexpr int64_t kLockRetry = 5'000'000;  // ns between attempts at a lock that another process may hold

// Bytes that divide a page of the page cache. A read that ends early at a multiple may continue behind the cached pages.
constexpr uint64_t kCachePage = 4096;
constexpr int64_t kQuick = 200'000;  // mean ns that buffered writes may take beyond one for each byte
constexpr unsigned kSlowSpell = 64;  // writes that go to the ring after the page cache was slow

long file_system_of(int fd) {
  struct statfs fs;
  return fstatfs(fd, &fs) == 0 ? long(fs.f_type) : 0;
}

bool is_one_of(long type, std::initializer_list<long> types) { return std::count(types.begin(), types.end(), type); }

bool blocks(const Op& op) {
  switch (op.kind) {
    case OpKind::read:
    case OpKind::write:
    case OpKind::fsync:
    case OpKind::fsyncdir:
    case OpKind::fallocate:
    case OpKind::copy_file_range:
    case OpKind::syncfs:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Asks for the file system once and not for each session, because a mounted NFS sends a request for it.
FileShared::FileShared(UniqueFd root, const TargetOptions& options, FileAccess access)
    : tree(std::move(root), options, access),
      type(file_system_of(tree.objects().root())),
      in_memory(is_one_of(type, {TMPFS_MAGIC, RAMFS_MAGIC})),
      local(in_memory || is_one_of(type, {BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, XFS_SUPER_MAGIC})) {}

FileSession::FileSession(std::shared_ptr<FileShared> shared)
    : shared_(std::move(shared)), waiters_(shared_->lock_events, event_), in_memory_(shared_->in_memory), local_(shared_->local) {
  has_ring_ = io_uring_queue_init(kMostJobs, &ring_, 0) == 0;
  if (has_ring_ && io_uring_register_eventfd(&ring_, event_.fd()) != 0) {
    io_uring_queue_exit(&ring_);
    has_ring_ = false;
  }
}

FileSession::~FileSession() {
  while (on_threads_ > 0 || on_ring_ > 0) {
    pollfd wait{.fd = event_.fd(), .events = POLLIN, .revents = 0};
    ::poll(&wait, 1, 100);
    event_.clear();
    reap_ring();
    std::lock_guard lock(finished_mutex_);
    on_threads_ -= unsigned(finished_.size());
    finished_.clear();
  }
  if (has_ring_) io_uring_queue_exit(&ring_);
}

bool FileSession::attempt(TargetRequest& request, int64_t until) {
  if (shared_->tree.perform(request, reply_)) shared_->lock_events.released();
  if (request.outcome.error == EAGAIN && waits_for_lock(*request.op) && now() < until) return false;
  complete(request);
  return true;
}

const OpenRef& FileSession::open_file(const TargetRequest& request, OpenRef* own) {
  const HandleId handle = request.op->handle;
  if (handle && request.alone && handle == latest_handle_) return latest_open_;
  forget_open();
  if (!handle || shared_->tree.objects().opened(handle, own) != 0 || !request.alone) return *own;
  latest_handle_ = handle;
  return latest_open_ = std::move(*own);
}

Submit FileSession::submit(TargetRequest& request) {
  if (!blocks(*request.op)) {
    if (latest_handle_ && request.op->handle == latest_handle_) forget_open();  // the operation may close it or bind it anew
    if (attempt(request)) return Submit::completed;
    waiters_.add(request, lock_until(*request.op, now()));
    return Submit::queued;
  }
  request.outcome = {};
  OpenRef own;
  const OpenRef& open = open_file(request, &own);
  const bool direct = open && open->direct;
  if (open && !direct && (read_cached(request, *open) || write_cached(request, *open))) return Submit::completed;
  if (request.alone && local_ && !direct && attempt(request)) return Submit::completed;
  if (on_ring_ + on_threads_ >= kMostJobs) return Submit::busy;
  if (!start_on_ring(request, open)) {
    start_on_thread(take_job(request));
    return Submit::queued;
  }
  // An operation that the page cache answered has completed already.
  reap_ring();
  for (auto it = done_.begin(); it != done_.end(); ++it)
    if ((*it)->request == &request) {
      recycle(std::move(*it));  // its memory stays untouched until the next submit()
      done_.erase(it);
      return Submit::completed;
    }
  return Submit::queued;
}

std::unique_ptr<FileSession::Job> FileSession::take_job(TargetRequest& request) {
  std::unique_ptr<Job> job;
  if (spare_.empty()) {
    job = std::make_unique<Job>();
  } else {
    job = std::move(spare_.back());
    spare_.pop_back();
  }
  job->request = &request;
  return job;
}

static bool fits_ring(const Op& op) {
  const bool sized = op.kind == OpKind::read || op.kind == OpKind::write;
  return !sized || (op.length <= kMostOnRing && op.offset <= uint64_t(INT64_MAX));
}

bool FileSession::read_cached(TargetRequest& request, const OpenFile& open) {
  const Op& op = *request.op;
  if (op.kind != OpKind::read || !has_nowait_ || !fits_ring(op)) return false;
  char* buffer = request.want_data ? request.room : scratch_.need(kMostOnRing);
  if (request.want_data && (!buffer || open.direct)) buffer = reply_.data.need(op.length);  // this buffer is aligned
  if (!buffer) return false;
  size_t done = 0;
  ssize_t n;
  do {
    const off_t at = off_t(op.offset + done);
    iovec part{.iov_base = buffer + done, .iov_len = op.length - done};
    n = may_wait(request) ? plain_pread(open.fd.get(), buffer + done, part.iov_len, at)
                          : preadv2(open.fd.get(), &part, 1, at, RWF_NOWAIT);
    if (n < 0) {
      has_nowait_ = errno != EOPNOTSUPP;
      return false;
    }
    done += size_t(n);
  } while (n > 0 && done < op.length &&
           (op.offset + done) % kCachePage == 0);  // a read that ends within a page is at the end of the file
  complete(request);
  request.outcome.result = done;
  if (request.want_data) request.outcome.data = {buffer, done};
  return true;
}

bool FileSession::write_cached(TargetRequest& request, const OpenFile& open) {
  const Op& op = *request.op;
  if (op.kind != OpKind::write || !fits_ring(op)) return false;
  const bool waits = may_wait(request);
  if (writes_to_ring_ > 0 && !waits) {
    --writes_to_ring_;
    return false;
  }
  const size_t length = std::min<size_t>(request.payload.size(), op.length);
  iovec part{.iov_base = const_cast<char*>(request.payload.data()), .iov_len = length};
  const int64_t start = waits ? 0 : now();
  const ssize_t n = op.has(kOpAppend) ? pwritev2(open.fd.get(), &part, 1, off_t(op.offset), RWF_APPEND)
                                      : plain_pwrite(open.fd.get(), part.iov_base, length, off_t(op.offset));
  if (waits)
    complete(request);
  else
    request.outcome.completed = now();
  if (!waits) write_excess_ += (request.outcome.completed - start - int64_t(length) - write_excess_) / 8;
  if (write_excess_ > kQuick) {
    writes_to_ring_ = kSlowSpell;
    write_excess_ = 0;
  }
  request.outcome.error = n < 0 ? errno : 0;
  request.outcome.result = n < 0 ? 0 : uint64_t(n);
  return true;
}

// Starts a request through io_uring. False: it does not fit, or io_uring is not available.
bool FileSession::start_on_ring(TargetRequest& request, const OpenRef& open) {
  const Op& op = *request.op;
  if (!has_ring_ || op.kind == OpKind::copy_file_range || op.kind == OpKind::syncfs || !open || !fits_ring(op)) return false;
  if (open->block) return false;  // O_DIRECT may have to be turned off while the request is in flight
  const bool reads = op.kind == OpKind::read;
  // io_uring repeats a read that ends early, which v9fs sends to the server again. It also closes a file later than close(2), and
  // v9fs looks up no directory of an open file.
  if (shared_->type == V9FS_MAGIC) return false;
  std::shared_lock keeps_direct(open->directness, std::defer_lock);
  if (open->direct && !keeps_direct.try_lock()) return false;  // O_DIRECT is off for a request that it refused
  std::unique_ptr<Job> job = take_job(request);
  const bool aligns = op.kind == OpKind::write && open->direct;
  const size_t length = size_t(std::min<uint64_t>(op.length, reads ? op.length : request.payload.size()));
  char* buffer = nullptr;
  if (reads || aligns) {
    buffer = reads && !request.want_data ? scratch_.need(kMostOnRing) : job->reply.data.need(length);
    if (!buffer && length > 0) return spare_.push_back(std::move(job)), false;
  }
  if (aligns && length > 0) memcpy(buffer, request.payload.data(), length);
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (!sqe) return spare_.push_back(std::move(job)), false;
  int fd = open->fd.get();
  if (reads) {
    io_uring_prep_read(sqe, fd, buffer, unsigned(length), op.offset);
    if (request.want_data) request.outcome.data = {buffer, length};
  } else if (op.kind == OpKind::write) {
    io_uring_prep_write(sqe, fd, aligns ? buffer : request.payload.data(), unsigned(length), op.offset);
    if (op.has(kOpAppend)) sqe->rw_flags = RWF_APPEND;
  } else if (op.kind == OpKind::fallocate) {
    io_uring_prep_fallocate(sqe, fd, int(op.mode), off_t(op.offset), off_t(op.length));
  } else {
    io_uring_prep_fsync(sqe, fd, (op.flags & 1) ? IORING_FSYNC_DATASYNC : 0);
  }
  job->open = open;
  io_uring_sqe_set_data(sqe, job.get());
  job.release();  // reap_ring() takes it back
  ++on_ring_;
  io_uring_submit(&ring_);
  return true;
}

void FileSession::reap_ring() {
  if (!has_ring_) return;
  io_uring_cqe* cqe;
  while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
    std::unique_ptr<Job> job(static_cast<Job*>(io_uring_cqe_get_data(cqe)));
    int result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    --on_ring_;
    job->open.reset();
    Outcome& outcome = job->request->outcome;
    if (result == -EAGAIN || result == -EINTR || result == -EINVAL) {
      // This kernel or file system may not support the request through io_uring. Repeat it as a plain call, whose outcome counts.
      outcome = {};
      start_on_thread(std::move(job));
      continue;
    }
    outcome.error = result < 0 ? -result : 0;
    outcome.result = result < 0 ? 0 : uint64_t(result);
    outcome.data = outcome.data.substr(0, outcome.result);
    outcome.completed = now();
    done_.push_back(std::move(job));
  }
}

void FileSession::start_on_thread(std::unique_ptr<Job> job) {
  ++on_threads_;
  Job* raw = job.release();
  shared_->pool.run([this, raw] {
    shared_->tree.perform(*raw->request, raw->reply);
    raw->request->outcome.completed = now();
    std::lock_guard lock(finished_mutex_);
    finished_.emplace_back(raw);
    event_.signal();  // while locked, because the session may be destroyed once it has taken the job
  });
}

void FileSession::deliver(Completion& sink) {
  reap_ring();
  {
    std::lock_guard lock(finished_mutex_);
    on_threads_ -= unsigned(finished_.size());
    for (std::unique_ptr<Job>& job : finished_) done_.push_back(std::move(job));
    finished_.clear();
  }
  // A completion may submit the next request, which may complete others.
  std::vector<std::unique_ptr<Job>> ready;
  ready.swap(done_);
  for (std::unique_ptr<Job>& job : ready) {
    sink.completed(*job->request);
    recycle(std::move(job));
  }
}

void FileSession::recycle(std::unique_ptr<Job> job) {
  constexpr size_t kMostSpare = 64;
  job->open.reset();
  if (spare_.size() >= kMostSpare) spare_.erase(spare_.begin());
  spare_.push_back(std::move(job));
}

void FileSession::poll(int64_t deadline, int wake, Completion& sink) {
  pollfd fds[] = {{.fd = wake, .events = POLLIN, .revents = 0}, {.fd = event_.fd(), .events = POLLIN, .revents = 0}};
  Clock& clock = *shared_->tree.options().clock;
  if (!done_.empty())
    deadline = INT64_MIN;
  else if (!waiters_.empty())
    deadline = std::min(deadline, clock.now() + kLockRetry);
  wait_for_events(clock, fds, deadline);
  event_.clear();
  waiters_.retry([&](TargetRequest& request, int64_t until) { return attempt(request, until); },
                 [&](TargetRequest& request) { sink.completed(request); });
  deliver(sink);
}

}  // namespace fsr
