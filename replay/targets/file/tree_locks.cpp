// SPDX-License-Identifier: Apache-2.0
// Directory target: byte-range locks and flock, without waiting.
#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <climits>

#include "tree.hpp"

namespace fsr {

int FileTree::record_lock(Context& c) {
  const Op& op = c.op;
  OpenRef open;
  if (int error = objects_.opened(op.handle, &open)) return error;
  if (op.mode != F_RDLCK && op.mode != F_WRLCK && op.mode != F_UNLCK) return EINVAL;
  struct flock range {};
  range.l_type = short(op.mode);
  range.l_whence = SEEK_SET;
  range.l_start = off_t(op.offset);
  range.l_len = op.length > uint64_t(INT64_MAX) - op.offset ? 0 : off_t(op.length);
  std::shared_ptr<UniqueFd> own;
  {
    std::lock_guard lock(locks_mutex_);
    auto& [known, handle] = lock_owners_[{open->object, op.owner}];
    if (op.kind == OpKind::setlk) handle = op.handle;
    if (!known) {
      auto path = proc_path(open->fd.get());
      int fd = -1;
      // Open for reading and writing if possible, because the access mode decides which locks the descriptor may take.
      for (int access : {O_RDWR, O_RDONLY, O_WRONLY})
        if (fd < 0) fd = ::open(path.data(), access | O_CLOEXEC);
      if (fd < 0) {
        int error = errno;
        lock_owners_.erase({open->object, op.owner});
        return error;
      }
      known = std::make_shared<UniqueFd>(fd);
    }
    own = known;
  }
  if (fcntl(own->get(), op.kind == OpKind::getlk ? F_OFD_GETLK : F_OFD_SETLK, &range) != 0)
    return errno == EACCES ? EAGAIN : errno;
  c.released = op.kind == OpKind::setlk && op.mode == F_UNLCK;
  return 0;
}

int FileTree::flock(Context& c) {
  OpenRef open;
  if (int error = objects_.opened(c.op.handle, &open)) return error;
  if (::flock(open->fd.get(), int(c.op.mode) | LOCK_NB) != 0) return errno;
  c.released = (c.op.mode & LOCK_UN) != 0;
  return 0;
}

bool FileTree::drop_owner(ObjectId object, uint64_t owner) {
  std::lock_guard lock(locks_mutex_);
  return lock_owners_.erase({object, owner}) != 0;
}

void FileTree::drop_owners(ObjectId object, HandleId handle, bool last) {
  std::lock_guard lock(locks_mutex_);
  const auto end = lock_owners_.upper_bound({object, UINT64_MAX});
  for (auto it = lock_owners_.lower_bound({object, 0}); it != end;)
    it = last || it->second.handle == handle ? lock_owners_.erase(it) : std::next(it);
}

}  // namespace fsr
