// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace fsr {

namespace {

constexpr uint32_t kDirectIoAllowMmap = 1u << 4;  // FUSE_DIRECT_IO_ALLOW_MMAP of Linux 6.6, in the second word of flags
constexpr uint32_t kFlags = FUSE_PARALLEL_DIROPS | FUSE_HANDLE_KILLPRIV;

std::atomic<uint64_t> g_init_request{0};  // unique number of the unanswered INIT
std::atomic<uint32_t> g_offered{0}, g_offered2{0};
std::atomic<bool> g_shared_mappings{false};

ssize_t read_request(int fd, void* buffer, size_t size, void*) {
  ssize_t n = read(fd, buffer, size);
  fuse_in_header header;
  fuse_init_in init;
  if (n < ssize_t(sizeof header + sizeof init)) return n;
  memcpy(&header, buffer, sizeof header);
  if (header.opcode != FUSE_INIT) return n;
  memcpy(&init, static_cast<char*>(buffer) + sizeof header, sizeof init);
  g_offered = init.flags;
  g_offered2 = init.flags & FUSE_INIT_EXT ? init.flags2 : 0;
  g_init_request = header.unique;
  return n;
}

void add_flags(const iovec& body) {
  fuse_init_out init;
  if (body.iov_len < sizeof init) return;
  memcpy(&init, body.iov_base, sizeof init);
  init.flags |= kFlags & g_offered;
  if (init.flags & FUSE_INIT_EXT) init.flags2 |= kDirectIoAllowMmap & g_offered2;
  g_shared_mappings = (init.flags & FUSE_INIT_EXT) && (init.flags2 & kDirectIoAllowMmap);
  memcpy(body.iov_base, &init, sizeof init);
}

ssize_t write_reply(int fd, iovec* parts, int count, void*) {
  if (uint64_t awaited = g_init_request.load(std::memory_order_relaxed); awaited != 0 && count == 2) {
    fuse_out_header header;
    memcpy(&header, parts[0].iov_base, sizeof header);
    if (header.unique == awaited && header.error == 0) add_flags(parts[1]);
    g_init_request = 0;
  }
  return writev(fd, parts, count);
}

}  // namespace

int attach_connection(fuse_session* session, int fuse_fd) {
  static const fuse_custom_io io = [] {
    fuse_custom_io calls = {};
    calls.writev = write_reply;
    calls.read = read_request;
    return calls;
  }();
  return fuse_session_custom_io(session, &io, fuse_fd);
}

bool shared_mappings_allowed() { return g_shared_mappings.load(std::memory_order_relaxed); }

}  // namespace fsr
