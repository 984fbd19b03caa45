// SPDX-License-Identifier: Apache-2.0
// Drops the pages that sendfile(2), splice(2) and readahead(2) leave behind with an inode whose mappings are the underlying
// file's.
//
// These calls read through the page cache of the FUSE inode, which is not updated when the file changes. They would find the old
// bytes for as long as the kernel keeps the inode. So this class asks the kernel to drop the pages (FUSE_NOTIFY_INVAL_INODE)
// one millisecond after each read that filled some; by then the caller has usually used them. Within that time they may be old.
// Pages of a file that no process has open for writing stay until one opens it (see unwritten_files.hpp).
//
// To drop pages that are being read, the kernel waits uninterruptibly until this process has answered the read. If a thread of
// this process waited like that when the process is killed, the connection would never end. So a second process asks the kernel.
// It outlives this one, and then aborts the connection if it is blocked. Its threads drop pages of other files meanwhile.
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
  // True: some pages are not dropped, because the second process has ended or is blocked by many files.
  bool lost() const { return lost_->load(std::memory_order_relaxed); }

 private:
  int pipe_ = -1;
  pid_t pid_ = -1;
  std::atomic<bool> used_{false};
  std::atomic<bool>* lost_ = nullptr;  // in memory that the second process shares
  std::unique_ptr<UnwrittenFiles> unwritten_;
};

}  // namespace fsr::shim
