// SPDX-License-Identifier: Apache-2.0
// The same things asked through io_uring, where the kernel's own threads may do them.
#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "actor.hpp"

namespace differential {

namespace {

alignas(4096) char buffer[1 << 18];

const Kind kFlags{"flags", {{O_RDWR | O_CREAT, "O_RDWR|O_CREAT"}, {O_RDONLY, "O_RDONLY"}, {O_RDWR | O_TRUNC, "O_RDWR|O_TRUNC"}}};
// Not -1, the file's own position: FUSE does not move it, as fsshim(1) says.
const Kind kPlace{"offset", {{0, nullptr}, {0, nullptr}, {7, nullptr}, {4096, nullptr}, {100000, nullptr}}};
const Kind kAsync{"async", {{0, nullptr}, {1, nullptr}}};

// One request, answered. A ring of its own each time: it is the process's at that moment, with its identity.
template <class Prepare>
int ask(int64_t async, Prepare prepare) {
  io_uring ring;
  int error = io_uring_queue_init(2, &ring, 0);
  if (error < 0) return error;
  io_uring_sqe* sqe = io_uring_get_sqe(&ring);
  prepare(sqe);
  if (async) sqe->flags |= IOSQE_ASYNC;
  io_uring_cqe* cqe = nullptr;
  error = io_uring_submit_and_wait(&ring, 1);
  if (error >= 0) error = io_uring_wait_cqe(&ring, &cqe);
  if (error >= 0) error = cqe->res;
  io_uring_queue_exit(&ring);
  return error;
}

bool ring_answer(Result& r, int result) {
  r.value = result < 0 ? -1 : result;
  r.error = result < 0 ? -result : 0;
  return result >= 0;
}

// Requests on others wait until they are ready.
bool regular(Process& p, int64_t slot) {
  struct stat s;
  return fstat(p.fd(slot), &s) == 0 && S_ISREG(s.st_mode);
}

void ring_open(Process& p, const int64_t* a, Result& r) {
  int flags = int(a[3]) | O_NONBLOCK | O_CLOEXEC;
  int fd = ask(a[5], [&](io_uring_sqe* sqe) { io_uring_prep_openat(sqe, p.fd(a[1]), path_text(a[2]), flags, mode_t(a[4])); });
  if (ring_answer(r, fd)) p.put(a[0], fd, r);
}

void ring_read(Process& p, const int64_t* a, Result& r) {
  if (!regular(p, a[0])) return;
  int n = ask(a[3], [&](io_uring_sqe* sqe) { io_uring_prep_read(sqe, p.fd(a[0]), buffer, unsigned(a[1]), uint64_t(a[2])); });
  if (ring_answer(r, n)) r.add(buffer, size_t(n));
}

void ring_write(Process& p, const int64_t* a, Result& r) {
  // One that O_DIRECT refuses has cleared set-id bits, as fsshim(1) says.
  if (!regular(p, a[0]) || (fcntl(p.fd(a[0]), F_GETFL) & O_DIRECT) != 0) return;
  for (int64_t i = 0; i < a[1]; ++i) buffer[i] = char('0' + (p.op + i) % 61);
  ring_answer(
      r, ask(a[3], [&](io_uring_sqe* sqe) { io_uring_prep_write(sqe, p.fd(a[0]), buffer, unsigned(a[1]), uint64_t(a[2])); }));
}

void ring_fsync(Process& p, const int64_t* a, Result& r) {
  ring_answer(r, ask(0, [&](io_uring_sqe* sqe) { io_uring_prep_fsync(sqe, p.fd(a[0]), 0); }));
}

void ring_allocate(Process& p, const int64_t* a, Result& r) {
  r.fields[kSetId] = p.has_set_id(a[0]);
  p.side->allocated.store(1);
  ring_answer(r, ask(0, [&](io_uring_sqe* sqe) { io_uring_prep_fallocate(sqe, p.fd(a[0]), 0, a[1], a[2]); }));
}

void ring_stat(Process& p, const int64_t* a, Result& r) {
  struct statx s = {};
  if (!ring_answer(r, ask(a[2], [&](io_uring_sqe* sqe) {
                     io_uring_prep_statx(sqe, p.fd(a[0]), path_text(a[1]), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &s);
                   }))) {
    return;
  }
  r.fields = {s.stx_mode, s.stx_nlink, s.stx_uid, s.stx_gid, S_ISDIR(s.stx_mode) ? 0 : int64_t(s.stx_size)};
}

void ring_mkdir(Process& p, const int64_t* a, Result& r) {
  ring_answer(r, ask(a[3], [&](io_uring_sqe* sqe) { io_uring_prep_mkdirat(sqe, p.fd(a[0]), path_text(a[1]), mode_t(a[2])); }));
}

void ring_rename(Process& p, const int64_t* a, Result& r) {
  ring_answer(r, ask(a[4], [&](io_uring_sqe* sqe) {
                io_uring_prep_renameat(sqe, p.fd(a[0]), path_text(a[1]), p.fd(a[2]), path_text(a[3]), 0);
              }));
}

void ring_unlink(Process& p, const int64_t* a, Result& r) {
  ring_answer(r, ask(a[2], [&](io_uring_sqe* sqe) { io_uring_prep_unlinkat(sqe, p.fd(a[0]), path_text(a[1]), 0); }));
}

void ring_symlink(Process& p, const int64_t* a, Result& r) {
  ring_answer(r,
              ask(a[3], [&](io_uring_sqe* sqe) { io_uring_prep_symlinkat(sqe, path_text(a[0]), p.fd(a[1]), path_text(a[2])); }));
}

void ring_link(Process& p, const int64_t* a, Result& r) {
  ring_answer(r, ask(a[4], [&](io_uring_sqe* sqe) {
                io_uring_prep_linkat(sqe, p.fd(a[0]), path_text(a[1]), p.fd(a[2]), path_text(a[3]), 0);
              }));
}

}  // namespace

void add_ring_calls(std::vector<Call>& calls) {
  constexpr const char* kArea = "io_uring";
  calls.push_back({"ring-openat", 6, {&kNewSlot, &kDirectory, &kPath, &kFlags, &kMode, &kAsync}, ring_open, kArea});
  calls.push_back({"ring-read", 4, {&kSlot, &kLength, &kPlace, &kAsync}, ring_read, kArea});
  calls.push_back({"ring-write", 4, {&kSlot, &kLength, &kPlace, &kAsync}, ring_write, kArea});
  calls.push_back({"ring-fsync", 1, {&kSlot}, ring_fsync, kArea});
  calls.push_back({"ring-fallocate", 1, {&kSlot, &kOffset, &kLength}, ring_allocate, kArea});
  calls.push_back({"ring-statx", 3, {&kDirectory, &kPath, &kAsync}, ring_stat, kArea});
  calls.push_back({"ring-mkdirat", 2, {&kDirectory, &kPath, &kMode, &kAsync}, ring_mkdir, kArea});
  calls.push_back({"ring-renameat", 2, {&kFromDirectory, &kPath, &kDirectory, &kPath, &kAsync}, ring_rename, kArea});
  calls.push_back({"ring-unlinkat", 2, {&kDirectory, &kPath, &kAsync}, ring_unlink, kArea});
  calls.push_back({"ring-symlinkat", 1, {&kPath, &kDirectory, &kPath, &kAsync}, ring_symlink, kArea});
  calls.push_back({"ring-linkat", 1, {&kFromDirectory, &kPath, &kDirectory, &kPath, &kAsync}, ring_link, kArea});
}

}  // namespace differential
