// SPDX-License-Identifier: Apache-2.0
// Drops the pages that sendfile(2), splice(2) and readahead(2) leave behind with an inode whose mappings are the underlying
// file's.
//
// These calls read through the page cache of the FUSE inode, which is not updated when the file changes. They would find the old
// bytes for as long as the kernel keeps the inode. So the kernel is told to drop the pages (FUSE_NOTIFY_INVAL_INODE) one
// millisecond after each read that filled some, when the caller has used them mostly. Within that time they may be old. Pages of
// a file that nobody has open for writing stay until that changes (see unwritten_files.hpp).
//
// The kernel waits uninterruptibly for pages that are being read, and requests of this process answer these reads. Would a thread
// of this process wait like that when it is killed, the connection would never end. So a process of its own tells the kernel; it
// outlives this one, and aborts the connection if it is held up then.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "unwritten_files.hpp"

namespace fsr::shim {

class PageDrops {
 public:
  // Create it before any thread starts. Throws CaptureError.
  explicit PageDrops(int fuse_fd);
  ~PageDrops();
  PageDrops(const PageDrops&) = delete;
  PageDrops& operator=(const PageDrops&) = delete;

  // Sets the connection's number, when it is known (see abort_connection()). Starts a thread.
  void connection(unsigned number);
  // Call this before the kernel's inode `node` is read through `fd` to fill pages. False: call filled() after the reply.
  bool keeps(uint64_t node, int fd) { return unwritten_ && unwritten_->contains(node, fd); }
  // Call this after replying to a read that filled pages of the kernel's inode `node`. Never blocks; any thread.
  void filled(uint64_t node);
  // True: an application used sendfile(2), splice(2) or readahead(2).
  bool used() const { return used_.load(std::memory_order_relaxed); }
  // True: some pages are not dropped, because the process that tells the kernel has ended or hangs.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  int pipe_ = -1;
  pid_t pid_ = -1;
  std::atomic<bool> used_{false};
  std::atomic<bool> lost_{false};
  std::unique_ptr<UnwrittenFiles> unwritten_;
};

}  // namespace fsr::shim
