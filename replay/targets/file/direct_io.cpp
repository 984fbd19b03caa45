// SPDX-License-Identifier: Apache-2.0
#include "direct_io.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <bit>

#include "util/page_size.hpp"

namespace fsr {

uint32_t direct_block(int fd) {
  struct stat st;
  int bytes = 0;
  if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) && ioctl(fd, BLKSSZGET, &bytes) == 0) return uint32_t(bytes);
  struct statfs fs;
  if (fstatfs(fd, &fs) != 0) return uint32_t(page_size());
  if (fs.f_type == NFS_SUPER_MAGIC) return 1;
#ifdef STATX_DIOALIGN
  struct statx answer {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &answer) == 0 && (answer.stx_mask & STATX_DIOALIGN) &&
      answer.stx_dio_offset_align)
    return answer.stx_dio_offset_align;
#endif
  // Blocks of btrfs are as large as the pages of the machine that made it.
  return std::has_single_bit(uint64_t(fs.f_bsize)) ? uint32_t(std::clamp<uint64_t>(uint64_t(fs.f_bsize), 4096, page_size()))
                                                   : 4096;
}

bool set_direct(int fd, bool on) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && ((flags & O_DIRECT) != 0) != on && fcntl(fd, F_SETFL, flags ^ O_DIRECT) == 0;
}

DirectGuard::DirectGuard(OpenFile& open, bool whole_blocks) : open_(open), direct_(whole_blocks) {
  if (!open_.direct) return;
  if (direct_) {
    open_.directness.lock_shared();
  } else {
    open_.directness.lock();
    turned_off_ = set_direct(open_.fd.get(), false);
  }
}

DirectGuard::~DirectGuard() {
  if (!open_.direct) return;
  if (direct_) {
    open_.directness.unlock_shared();
  } else {
    if (turned_off_) set_direct(open_.fd.get(), true);
    open_.directness.unlock();
  }
}

}  // namespace fsr
