// SPDX-License-Identifier: Apache-2.0
#include "targets/raw/session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "targets/file/direct_io.hpp"
#include "targets/raw/raw_ops.hpp"

namespace fsr::raw {

namespace {

constexpr int64_t kFar = 10'000'000;  // ns to a deadline from which on it need not be met exactly
constexpr unsigned kBatch = 16;       // entries after which they are submitted, even before the next poll()

// Flags of a ring, from the cheapest to those of any kernel. Completions are processed by the thread that waits for them (Linux
// 6.1), or at its next system call (5.19).
constexpr unsigned kSetups[] = {
    IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    IORING_SETUP_R_DISABLED | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, IORING_SETUP_R_DISABLED};

}  // namespace

RawSession::RawSession(std::shared_ptr<Shared> shared) : shared_(std::move(shared)), waiters_(shared_->lock_events, event_) {
  make_ring();
}

void RawSession::make_ring() {
  int error = -EINVAL;
  for (unsigned flags : kSetups)
    if (error == -EINVAL) error = io_uring_queue_init(kEntries, &ring_, flags);
  if (error) throw std::runtime_error(shared_->device.path + ": no io_uring on this machine: " + strerror(-error));
}

RawSession::~RawSession() {
  io_uring_queue_exit(&ring_);
  if (under_way_ == 0) return;
  scratch_.release();
  for (std::unique_ptr<Job>& job : all_) job.release();
}

// Enables the ring for the calling thread. The ring belongs to the thread that enables it, which may differ from the one that
// opened the session. If another thread has enabled it before, the ring is replaced.
void RawSession::enable() {
  static thread_local char thread;
  if (owner_ == &thread) return;
  if (owner_) {
    io_uring_queue_exit(&ring_);
    make_ring();
    watched_wake_ = watched_bell_ = -1;
    timer_ = 0;
  }
  owner_ = &thread;
  // Called directly, because liburing 2.3 declares io_uring_enable_rings(3) but does not export it.
  syscall(__NR_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  int fd = shared_->device.fd.get();
  io_uring_register_files(&ring_, &fd, 1);
  const iovec scratch{scratch_->need(kPiece), kPiece};
  fixed_scratch_ = scratch.iov_base && io_uring_register_buffers(&ring_, &scratch, 1) == 0;
}

io_uring_sqe* RawSession::get_sqe() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe) return sqe;
  io_uring_submit(&ring_);
  return io_uring_get_sqe(&ring_);
}

RawSession::Job* RawSession::take_job(TargetRequest& request) {
  if (spare_.empty()) {
    all_.push_back(std::make_unique<Job>());
    spare_.push_back(all_.back().get());
  }
  Job* job = spare_.back();
  spare_.pop_back();
  job->request = &request;
  return job;
}

Submit RawSession::submit(TargetRequest& request) {
  enable();
  request.outcome = {};
  if (under_way_ + 3 >= kEntries) return Submit::busy;  // two entries watch descriptors, one is a timer
  const Op& op = *request.op;
  const Extent* extent = nullptr;
  const uint64_t length = transferred(op);
  int error = 0;
  if (fidelity(op, shared_->device.block) == Fidelity::impossible) {
    error = EOPNOTSUPP;
  } else if (op.kind == OpKind::read || op.kind == OpKind::write) {
    extent = shared_->find(op.object);
    if (length > 0 && !extent) error = ESTALE, ++shared_->counters.unplaced;
    if (length > 0 && extent && (length > extent->length || op.offset > extent->length - length)) error = EFBIG;
    if (op.kind == OpKind::write && request.payload.size() < length) error = EINVAL;
    if (length == 0) ++shared_->counters.empty;
  }
  if (error || op.kind == OpKind::null || (!is_sync(op) && length == 0)) {
    request.outcome.error = error;
    request.outcome.completed = now();
    return Submit::completed;
  }
  if (!begin(request)) waiters_.add(request);
  return Submit::queued;
}

// Begins a request. False: it must wait for a write in flight that overlaps.
bool RawSession::begin(TargetRequest& request) {
  const Op& op = *request.op;
  Job* job = take_job(request);
  if (is_sync(op)) {
    job->step = Step::sync;
    issue(*job);
    return true;
  }
  place(*job, *shared_->find(op.object));
  const bool widened = job->begin != job->start || job->end != job->start + job->length;
  if (op.kind == OpKind::read) {
    shared_->counters.widened_reads += widened;
  } else {
    job->reads_first = widened;
    if (!shared_->writes.enter(job->begin, job->end, widened)) {
      spare_.push_back(job);
      return false;
    }
    shared_->counters.widened_writes += widened;
  }
  next_piece(*job);
  return true;
}

void RawSession::place(Job& job, const Extent& extent) {
  const uint64_t mask = shared_->device.block - 1;
  job.start = extent.start + job.request->op->offset;
  job.length = transferred(*job.request->op);
  job.begin = job.at = job.start & ~mask;
  job.end = (job.start + job.length + mask) & ~mask;
}

// True: a write is of whole blocks, and its memory is aligned, so that the device can read it directly.
bool RawSession::is_aligned(const Job& job) const {
  return !job.reads_first && (uintptr_t(job.request->payload.data()) & (shared_->device.block - 1)) == 0;
}

void RawSession::next_piece(Job& job) {
  const bool writes = job.request->op->kind == OpKind::write;
  const bool whole = !writes && job.request->want_data;
  const uint64_t most = whole ? uint64_t(std::numeric_limits<int>::max()) & ~(kPiece - 1) : kPiece;
  job.piece_begin = job.at;
  job.piece_end = std::min(job.end, job.at + most);
  if (writes && is_aligned(job))
    job.memory = const_cast<char*>(job.request->payload.data()) + (job.at - job.start);
  else
    job.memory = writes || whole ? job.own.need(job.piece_end - job.piece_begin) : scratch_->need(kPiece);
  if (!job.memory) return finish(job, ENOMEM);
  job.step = !writes                                                     ? Step::read
             : job.piece_begin < job.start                               ? Step::head
             : job.piece_end > job.start + job.length && job.reads_first ? Step::tail
                                                                         : Step::write;
  issue(job);
}

void RawSession::issue(Job& job) {
  io_uring_sqe* sqe = get_sqe();
  if (!sqe) return finish(job, EAGAIN);
  const uint64_t block = shared_->device.block, piece = job.piece_end - job.piece_begin, last = job.piece_end - block;
  switch (job.step) {
    case Step::read:
      if (fixed_scratch_ && !job.request->want_data)
        io_uring_prep_read_fixed(sqe, 0, job.memory, unsigned(piece), job.piece_begin, 0);
      else
        io_uring_prep_read(sqe, 0, job.memory, unsigned(piece), job.piece_begin);
      break;
    case Step::head:
      io_uring_prep_read(sqe, 0, job.memory, unsigned(block), job.piece_begin);
      break;
    case Step::tail:
      io_uring_prep_read(sqe, 0, job.memory + (piece - block), unsigned(block), last);
      break;
    case Step::write: {
      const uint64_t from = std::max(job.piece_begin, job.start), to = std::min(job.piece_end, job.start + job.length);
      if (!is_aligned(job))
        memcpy(job.memory + (from - job.piece_begin), job.request->payload.data() + (from - job.start), to - from);
      io_uring_prep_write(sqe, 0, job.memory, unsigned(piece), job.piece_begin);
      if (job.request->op->open_flags & O_DSYNC) sqe->rw_flags = RWF_DSYNC;
      break;
    }
    case Step::sync:
      io_uring_prep_fsync(sqe, 0, job.request->op->flags & 1 ? IORING_FSYNC_DATASYNC : 0);
      break;
  }
  sqe->flags |= IOSQE_FIXED_FILE;
  io_uring_sqe_set_data(sqe, &job);
  ++under_way_;
  if (io_uring_sq_ready(&ring_) >= kBatch) io_uring_submit(&ring_);
}

// Handles the completion of a step and starts the next one. True: the request is finished.
bool RawSession::advance(Job& job, int result) {
  const uint64_t block = shared_->device.block, piece = job.piece_end - job.piece_begin;
  TargetRequest& request = *job.request;
  const bool aside = job.step == Step::head || job.step == Step::tail;
  const uint64_t expected = job.step == Step::sync ? 0 : aside ? block : piece;
  if (result < 0 || uint64_t(result) != expected) {
    finish(job, result < 0 ? -result : EIO);
    return true;
  }
  request.outcome.auxiliary += aside;
  if (aside) {
    const bool tail = job.step == Step::head && piece > block && job.piece_end > job.start + job.length;
    job.step = tail ? Step::tail : Step::write;
    issue(job);
    return false;
  }
  job.at = job.piece_end;
  if (job.step != Step::sync && job.at < job.end) {
    next_piece(job);
    return false;
  }
  finish(job, 0);
  return true;
}

void RawSession::finish(Job& job, int error) {
  TargetRequest& request = *job.request;
  const bool writes = request.op->kind == OpKind::write;
  if (writes) {
    shared_->writes.leave(job.begin, job.end, job.reads_first);
    shared_->lock_events.released();
  }
  request.outcome.error = error;
  if (!error) request.outcome.result = job.step == Step::sync ? 0 : job.length;
  if (!error && request.op->kind == OpKind::read && request.want_data && job.piece_begin == job.begin)
    request.outcome.data = {job.memory + (job.start - job.begin), size_t(job.length)};
  request.outcome.completed = reaped_ ? reaped_ : now();
  done_.push_back(&job);
}

void RawSession::watch(int fd, int& watched) {
  if (fd < 0 || fd == watched) return;
  io_uring_sqe* sqe = get_sqe();
  if (!sqe) return;
  watched = fd;
  io_uring_prep_poll_multishot(sqe, fd, POLLIN);
  io_uring_sqe_set_data(sqe, &watched);
}

void RawSession::reap() {
  io_uring_cqe* cqe;
  unsigned head, seen = 0;
  reaped_ = now();
  io_uring_for_each_cqe(&ring_, head, cqe) {
    ++seen;
    void* data = io_uring_cqe_get_data(cqe);
    if (data == &timer_) {
      timer_ = 0;
    } else if (data == &watched_wake_ || data == &watched_bell_) {
      if (!(cqe->flags & IORING_CQE_F_MORE)) *static_cast<int*>(data) = -1;
    } else {
      --under_way_;
      advance(*static_cast<Job*>(data), cqe->res);
    }
  }
  io_uring_cq_advance(&ring_, seen);
  reaped_ = 0;
}

void RawSession::deliver(Completion& sink) {
  // A completion may submit the next request, which may complete others.
  delivered_.swap(done_);
  for (Job* job : delivered_) {
    sink.completed(*job->request);
    job->reads_first = false;
    spare_.push_back(job);
  }
  delivered_.clear();
}

// Sleeps until an event or the deadline, which it may exceed slightly. For a far deadline, one timer of the ring is set and
// serves later deadlines as well. A timer for each sleep would cost more than the rest of the sleep.
void RawSession::wait(int64_t deadline) {
  io_uring_cqe* cqe;
  const int64_t left = deadline <= 0 ? 0 : deadline - now();
  if (left <= 0) {
    if (io_uring_sq_ready(&ring_))
      io_uring_submit_and_get_events(&ring_);
    else
      io_uring_peek_cqe(&ring_, &cqe);
    return;
  }
  __kernel_timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  if (timer_ == 0 && left >= kFar)
    if (io_uring_sqe* sqe = get_sqe()) {
      timer_ = deadline;
      io_uring_prep_timeout(sqe, &timeout, 0, 0);
      io_uring_sqe_set_data(sqe, &timer_);
    }
  if (timer_ && timer_ <= deadline)
    io_uring_submit_and_wait(&ring_, 1);
  else
    io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &timeout, nullptr);
}

void RawSession::poll(int64_t deadline, int wake, Completion& sink) {
  enable();
  watch(wake, watched_wake_);
  if (!waiters_.empty()) watch(event_.fd(), watched_bell_);
  if (done_.empty()) wait(deadline);
  reap();
  if (!waiters_.empty()) {
    event_.clear();
    waiters_.retry([&](TargetRequest& request, int64_t) { return begin(request); }, [](TargetRequest&) {});
  }
  deliver(sink);
  if (io_uring_sq_ready(&ring_)) io_uring_submit(&ring_);
}

}  // namespace fsr::raw
