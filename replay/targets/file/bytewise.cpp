// SPDX-License-Identifier: Apache-2.0
// Directory target: transfers single bytes, with nothing between the system calls.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "session.hpp"

namespace fsr {

namespace {

// True: system calls are made without glibc's wrappers, whose cancellation points cost a program with threads 5 % of the time of
// a cached byte. Possible only if the kernel takes an offset as one argument.
constexpr bool kPlainCalls = sizeof(long) == sizeof(off_t);

bool read_byte(int fd, char* byte, off_t at) {
  return (kPlainCalls ? syscall(SYS_pread64, fd, byte, size_t(1), at) : pread(fd, byte, 1, at)) == 1;
}

bool write_byte(int fd, const char* byte, off_t at) {
  return (kPlainCalls ? syscall(SYS_pwrite64, fd, byte, size_t(1), at) : pwrite(fd, byte, 1, at)) == 1;
}

}  // namespace

uint64_t FileSession::by_bytes(const TargetRequest& request) {
  const Op& op = *request.op;
  OpenRef open;
  if (op.handle) shared_->tree.objects().opened(op.handle, &open);
  if (!open || open->direct || open->block || op.has(kOpAppend) || op.offset > uint64_t(INT64_MAX)) return 0;
  const int fd = open->fd.get();
  const off_t from = off_t(op.offset);
  uint64_t done = 0;
  if (op.kind == OpKind::write) {
    const uint64_t length = std::min<uint64_t>(op.length, request.payload.size());
    while (done < length && write_byte(fd, request.payload.data() + done, from + off_t(done))) ++done;
  } else if (op.kind == OpKind::read) {
    char byte;
    while (done < op.length && read_byte(fd, &byte, from + off_t(done))) ++done;
  }
  return done;
}

}  // namespace fsr
