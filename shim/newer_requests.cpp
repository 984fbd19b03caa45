// SPDX-License-Identifier: Apache-2.0
#include "newer_requests.hpp"

#include <linux/fuse.h>
#include <sys/uio.h>

#include <cstring>

namespace fsr::shim {

namespace {

// Values of <linux/fuse.h>, where versions before 6.6 lack some:
constexpr uint32_t kTmpfile = 51, kStatx = 52;       // opcodes
constexpr uint32_t kParallelDirectWrites = 1u << 6;  // FOPEN_PARALLEL_DIRECT_WRITES

struct StatxIn {
  fuse_getattr_in common;
  uint32_t flags, mask;
};

struct StatxOut {
  uint64_t valid_seconds;
  uint32_t valid_nanoseconds, flags;
  uint64_t spare[2];
  struct statx statx;  // the kernel's own struct up to the device numbers, then spare
};
constexpr size_t kStatxKnown = offsetof(struct statx, stx_dev_minor) + sizeof(uint32_t);

thread_local uint64_t t_statx = 0;  // unique number of the FUSE_STATX being served, 0: none
thread_local StatxOut t_reply;
thread_local uint64_t t_open = 0;      // the same of a request that opens a file,
thread_local bool t_parallel = false;  // and what its answer says
thread_local int t_backing = 0;        // 0: nothing about a backing file

}  // namespace

ssize_t translate_request(char* message, ssize_t n) {
  t_statx = t_open = 0;
  t_parallel = false;
  t_backing = 0;
  fuse_in_header header;
  if (n < ssize_t(sizeof header)) return n;
  memcpy(&header, message, sizeof header);
  if (header.opcode == FUSE_OPEN || header.opcode == FUSE_CREATE || header.opcode == kTmpfile) t_open = header.unique;
  if (header.opcode == kTmpfile) {
    header.opcode = FUSE_CREATE;
  } else if (header.opcode == kStatx && n == ssize_t(sizeof header + sizeof(StatxIn))) {
    header.opcode = FUSE_GETATTR;
    n = ssize_t(sizeof header + sizeof(fuse_getattr_in));
    header.len = uint32_t(n);
    t_statx = header.unique;
  } else {
    return n;
  }
  memcpy(message, &header, sizeof header);
  return n;
}

bool serving_statx() { return t_statx != 0; }

void note_statx(const struct statx& s) {
  t_reply = {};
  memcpy(&t_reply.statx, &s, kStatxKnown);
}

void note_parallel_writes() { t_parallel = true; }

void note_backing(int id) { t_backing = id; }

// fuse_open_out comes last, in the reply to FUSE_CREATE after the entry. Older kernels ignore the first flag.
static void complete_open(const iovec& body) {
  fuse_open_out out;
  if (body.iov_len < sizeof out) return;
  char* place = static_cast<char*>(body.iov_base) + body.iov_len - sizeof out;
  memcpy(&out, place, sizeof out);
  if (t_parallel) out.open_flags |= kParallelDirectWrites;
  if (t_backing != 0) {
    constexpr uint32_t kPassthrough = 1u << 7;  // FOPEN_PASSTHROUGH
    out.open_flags |= kPassthrough;
    // The last member is padding in headers of Linux before 6.9, and then backing_id.
    constexpr size_t kBackingId = 12;
    static_assert(sizeof out == kBackingId + sizeof t_backing);
    memcpy(reinterpret_cast<char*>(&out) + kBackingId, &t_backing, sizeof t_backing);
  }
  memcpy(place, &out, sizeof out);
}

void translate_reply(iovec* parts, int count) {
  if ((t_statx == 0 && t_open == 0) || count != 2) return;
  fuse_out_header header;
  memcpy(&header, parts[0].iov_base, sizeof header);
  if (header.error != 0) return;
  if (header.unique == t_open && (t_parallel || t_backing != 0)) return complete_open(parts[1]);
  if (header.unique != t_statx) return;
  t_statx = 0;
  header.len = sizeof header + sizeof t_reply;
  memcpy(parts[0].iov_base, &header, sizeof header);
  parts[1] = {&t_reply, sizeof t_reply};
}

}  // namespace fsr::shim
