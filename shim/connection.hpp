// SPDX-License-Identifier: Apache-2.0
// The FUSE connection, and what its two sides agree on in the first exchange.
//
// The answer of libfuse 3.14 lacks flags that a faithful pass-through needs. They are for set-id bits cleared below, parallel
// directory operations, and shared mappings of direct-I/O files (Linux 6.6). With that version, this file reads and writes the
// connection itself and completes the answer. Newer versions know these flags, and Debian builds them without support for own
// read and write calls.
#pragma once

#include <cstdint>

struct fuse_conn_info;
struct fuse_session;

namespace fsr::shim {

// Instead of a mount by libfuse: the session takes over `fuse_fd`. 0, or a negative errno.
int attach_connection(fuse_session* session, int fuse_fd);

// Called with what the kernel offers, before it is answered. `keeps_data`: the kernel may keep file data until the file's times
// or size change. `kernel_checks`: it checks permissions, ACLs included.
void negotiate(fuse_conn_info* conn, bool keeps_data, bool kernel_checks);

// True: shared mappings work beside direct I/O. Known after the reply to the kernel's first request.
bool shared_mappings_allowed();

// Requests mappings of backing files (Linux 6.9), whose file systems may be stacked that deep (see stack_depth()). 0, or no call:
// no request. Call before the session starts.
void want_backing_files(uint32_t stack_depth);
// Makes the underlying file behind `fd` a backing file of the connection. Returns its id, or a negative errno.
int backing_open(int fd);
// Closes a backing file. The kernel keeps it for as long as open instances use it.
void backing_close(int id);

// Transport of requests. It is unknown until the connection's first exchange.
constexpr unsigned kRingEntries =
    32;  // requests that each queue of io_uring holds until they are answered, one queue a processor

enum class Transport : uint8_t { unknown, device, uring };
Transport transport();
// True if the kernel can drop all its directory entries on request (Linux 6.16). Known when the session has started.
bool can_raise_epoch();
// Drops all directory entries of the kernel: each is looked up before its next use. False: the kernel refused the message.
bool raise_epoch();

}  // namespace fsr::shim
