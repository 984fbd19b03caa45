// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 14)
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "newer_requests.hpp"

namespace fsr::shim {

namespace {

// Splicing costs more than it saves for small requests; the rest would hide calls, or have the kernel decide about permissions.
constexpr uint32_t kUnwanted = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE | FUSE_CAP_READDIRPLUS |
                               FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_AUTO_INVAL_DATA;
constexpr uint32_t kWanted = FUSE_CAP_DONT_MASK | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS |
                             FUSE_CAP_ASYNC_DIO | FUSE_CAP_IOCTL_DIR;

// Requests that no application waits for by itself (write-back, direct I/O): one slow underlying file system may delay many of
// them.
constexpr unsigned kMostInBackground = 512;

constexpr int32_t kNotifyIncEpoch = 8;  // FUSE_NOTIFY_INC_EPOCH of protocol 7.44, Linux 6.16; without a body

int g_fuse_fd = -1;  // of the process's only connection
std::atomic<bool> g_shared_mappings{false}, g_epochs{false}, g_backing_files{false};
uint32_t g_stack_depth = 0;  // of backing files; 0: none are wanted

// The argument of FUSE_DEV_IOC_BACKING_OPEN.
struct BackingMap {
  int32_t fd;
  uint32_t flags;
  uint64_t padding;
};
constexpr unsigned long kBackingOpen = _IOW(229, 1, BackingMap), kBackingClose = _IOW(229, 2, uint32_t);

std::atomic<Transport> g_transport{Transport::unknown};

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 18)
constexpr uint32_t kDirectIoAllowMmap = 1u << 4;  // FUSE_DIRECT_IO_ALLOW_MMAP of Linux 6.6, in the second word of flags
constexpr uint32_t kPassthrough = 1u << 5;        // FUSE_PASSTHROUGH of Linux 6.9, likewise
constexpr uint32_t kFlags = FUSE_PARALLEL_DIROPS | FUSE_HANDLE_KILLPRIV;

std::atomic<uint64_t> g_init_request{0};  // unique number of the unanswered INIT
std::atomic<uint32_t> g_offered{0}, g_offered2{0};

ssize_t read_request(int fd, void* buffer, size_t size, void*) {
  ssize_t n = translate_request(static_cast<char*>(buffer), read(fd, buffer, size));
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
  g_backing_files = g_stack_depth != 0 && (init.flags & FUSE_INIT_EXT) && (g_offered2 & kPassthrough);
  if (g_backing_files) {
    init.flags2 |= kPassthrough;
    init.unused[0] = g_stack_depth;  // max_stack_depth
  }
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
  translate_reply(parts, count);
  return writev(fd, parts, count);
}
#endif

}  // namespace

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 18)

int attach_connection(fuse_session* session, int fuse_fd) {
  static const fuse_custom_io io = [] {
    fuse_custom_io calls = {};
    calls.writev = write_reply;
    calls.read = read_request;
    return calls;
  }();
  g_fuse_fd = fuse_fd;
  return fuse_session_custom_io(session, &io, fuse_fd);
}

void negotiate(fuse_conn_info* conn, bool keeps_data, bool kernel_checks) {
  g_epochs = conn->proto_major == 7 && conn->proto_minor >= 44;
  conn->want = (conn->want & ~kUnwanted) | (kWanted & conn->capable);
  if (keeps_data) conn->want |= FUSE_CAP_AUTO_INVAL_DATA & conn->capable;
  if (kernel_checks) conn->want |= FUSE_CAP_POSIX_ACL & conn->capable;
  conn->max_background = kMostInBackground;
  g_transport = Transport::device;
}

#else

int attach_connection(fuse_session* session, int fuse_fd) {
  g_fuse_fd = fuse_fd;
  // The library's way of saying that it is mounted already.
  return fuse_session_mount(session, ("/dev/fd/" + std::to_string(fuse_fd)).c_str()) == 0 ? 0 : -EINVAL;
}

void negotiate(fuse_conn_info* conn, bool keeps_data, bool kernel_checks) {
  g_epochs = conn->proto_major == 7 && conn->proto_minor >= 44;
  fuse_unset_feature_flag(conn, kUnwanted);
  for (uint64_t flag = 1; flag <= kWanted; flag <<= 1)
    if (kWanted & flag) fuse_set_feature_flag(conn, flag);
  for (uint64_t flag : {uint64_t(FUSE_CAP_PARALLEL_DIROPS), uint64_t(FUSE_CAP_HANDLE_KILLPRIV)})
    fuse_set_feature_flag(conn, flag);
  if (keeps_data) fuse_set_feature_flag(conn, FUSE_CAP_AUTO_INVAL_DATA);
  if (kernel_checks) fuse_set_feature_flag(conn, FUSE_CAP_POSIX_ACL);
  g_shared_mappings = fuse_set_feature_flag(conn, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
  g_backing_files = g_stack_depth != 0 && fuse_set_feature_flag(conn, FUSE_CAP_PASSTHROUGH);
  if (g_backing_files) conn->max_backing_stack_depth = g_stack_depth - 1;
  conn->max_background = kMostInBackground;
  g_transport = conn->want_ext & FUSE_CAP_OVER_IO_URING ? Transport::uring : Transport::device;
}

#endif

Transport transport() { return g_transport.load(std::memory_order_relaxed); }

bool can_raise_epoch() { return g_epochs.load(std::memory_order_relaxed); }

bool raise_epoch() {
  // libfuse has a call for this message since 3.18.
  fuse_out_header message{sizeof message, kNotifyIncEpoch, 0};
  return write(g_fuse_fd, &message, sizeof message) == ssize_t(sizeof message);
}

void want_backing_files(uint32_t stack_depth) { g_stack_depth = stack_depth; }

int backing_open(int fd) {
  if (!g_backing_files.load(std::memory_order_relaxed)) return -EOPNOTSUPP;
  BackingMap map{fd, 0, 0};
  const int id = ioctl(g_fuse_fd, kBackingOpen, &map);
  return id > 0 ? id : id < 0 ? -errno : -EINVAL;
}

void backing_close(int id) {
  auto number = uint32_t(id);
  ioctl(g_fuse_fd, kBackingClose, &number);
}

bool shared_mappings_allowed() { return g_shared_mappings.load(std::memory_order_relaxed); }

}  // namespace fsr::shim
