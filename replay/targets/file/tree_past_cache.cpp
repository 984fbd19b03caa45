// SPDX-License-Identifier: Apache-2.0
// Directory target on a mounted NFS: makes Linux' client send requests that it would otherwise answer from its caches. Reads and
// writes use O_DIRECT (FileTree::direct_). A table in docs/mixfile.md has the cost of each system call.
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "credentials.hpp"
#include "direct_io.hpp"
#include "tree.hpp"

namespace fsr {

namespace {

// A group id for this thread's accesses that no earlier access had, so that the client has no cached result for it. Needs
// CAP_SETGID.
class NewGroup {
 public:
  NewGroup() : id_(kFirst | (next_++ & (kFirst - 1))) { setfsgid(id_); }
  ~NewGroup() { setfsgid(getegid()); }
  NewGroup(const NewGroup&) = delete;
  bool allowed() const { return uint32_t(setfsgid(uint32_t(-1))) == id_; }

 private:
  static constexpr uint32_t kFirst = 1u << 30;  // above the ids of users
  static inline std::atomic<uint32_t> next_{std::random_device()()};
  const uint32_t id_;
};

struct EntryHead {  // of struct linux_dirent64
  uint64_t ino;
  int64_t next;
  unsigned short length;
  unsigned char type;
  char name[1];
};

}  // namespace

void FileTree::ask_server(Context& c) {
  ActAs act(c.who);
  switch (c.op.kind) {
    case OpKind::getattr:
    case OpKind::statx:
    case OpKind::readlink:  // if another client changed the link, it is then read anew
      return ask_attributes(c);
    case OpKind::lookup:
      return ask_name(c);
    case OpKind::fsync:
      return leave_uncommitted(c);
    default:
      return;
  }
}

void FileTree::ask_attributes(Context& c) {
  PathAt at;
  struct statx st;
  if (objects_.subject(c.op, &at) == 0)
    statx(at.fd(), at.name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_FORCE_SYNC,
          STATX_BASIC_STATS, &st);
}

// Asks the server for a name that the client believes to exist, by a mkdir(2), which fails if the name exists.
void FileTree::ask_name(Context& c) {
  PathAt at;
  struct statx st;
  if (name_below(c.op.parent, c.op.name, &at) != 0) return;
  const char* name = at.name.c_str();
  if (statx(at.fd(), name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &st) != 0) return;
  if (mkdirat(at.fd(), name, 0) == 0) unlinkat(at.fd(), name, AT_REMOVEDIR);  // another client had removed it
}

int FileTree::access_anew(Context& c) {
  PathAt at;
  if ((at.open = objects_.any_open(c.op.object)) == nullptr)
    if (int error = objects_.subject(c.op, &at)) return error;
  ActAs act(c.who);
  NewGroup group;
  // Without CAP_SETGID, set the mode to its present value, which makes the client drop its cached results.
  struct stat st;
  if (!group.allowed() && at.is_fd() && fstat(at.fd(), &st) == 0) fchmod(at.fd(), st.st_mode & 07777);
  const int flags = AT_EACCESS | AT_SYMLINK_NOFOLLOW | (at.is_fd() ? AT_EMPTY_PATH : 0);
  return syscall(SYS_faccessat2, at.fd(), at.name.c_str(), c.op.mode, flags) == 0 ? 0 : errno;
}

// Makes the client write the file's first page unstably, so that the fsync sends a commit. The page is marked as changed through
// a mapping (MADV_POPULATE_WRITE, Linux 5.14). So the file keeps its size and content, whatever others do to it meanwhile.
void FileTree::leave_uncommitted(Context& c) {
  constexpr size_t kPage = 4096;  // bytes; the kernel takes the whole page, if larger
  const OpenRef open = objects_.any_open(c.op.object);
  struct stat st;
  if (!open || fstat(open->fd.get(), &st) != 0 || st.st_size == 0) return;
  DirectGuard through_cache(*open, false);
  UniqueFd both;  // a mapping needs a descriptor that may read
  if ((fcntl(open->fd.get(), F_GETFL) & O_ACCMODE) == O_WRONLY)
    both = UniqueFd(::open(proc_path(open->fd.get()).data(), O_RDWR | O_CLOEXEC));
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, both ? both.get() : open->fd.get(), 0);
  if (page == MAP_FAILED) return;
  const bool changed = madvise(page, kPage, MADV_POPULATE_WRITE) == 0;
  munmap(page, kPage);
  if (changed) sync_file_range(open->fd.get(), 0, kPage, SYNC_FILE_RANGE_WRITE);
}

// Drops the listing in the client's cache, and returns the cookie to begin at. A listing from the start also asks for attributes
// (READDIRPLUS). To avoid that, a readdir begins at the second entry if the first is ".".
uint64_t FileTree::list_anew(OpKind kind, OpenFile& open) {
  const int fd = open.fd.get();
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  if (kind == OpKind::readdirplus) return 0;
  if (!open.second_entry) {
    alignas(EntryHead) char buffer[512];
    open.second_entry = 0;
    if (lseek(fd, 0, SEEK_SET) == 0 && syscall(SYS_getdents64, fd, buffer, sizeof buffer) > 0)
      if (const auto* first = reinterpret_cast<const EntryHead*>(buffer); std::string_view(first->name) == ".")
        open.second_entry = uint64_t(first->next);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  }
  return *open.second_entry;
}

}  // namespace fsr
