// SPDX-License-Identifier: Apache-2.0
// Finds the files of a `file:` target. Keeps the names (directory and component) of each recorded object, and an open descriptor
// for each recorded handle. Names are resolved through a bounded cache of directory descriptors.
//
// A file is addressed as one component below a directory descriptor. A directory is found by descending from the root, component
// by component. No step follows a symlink or crosses a mount point, so that nothing outside the root can be reached. Names remain
// valid if a directory above is renamed, because they refer to the directory by its identity. A file without names stays
// reachable through its open descriptors. Thread-safe. Uses one descriptor for each open handle, and at most `cached` for
// directories.
#pragma once

#include <atomic>
#include <climits>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "op.hpp"
#include "targets/dir_cursor.hpp"
#include "targets/id_map.hpp"
#include "util/unique_fd.hpp"

namespace fsr {

struct OpenFile : std::enable_shared_from_this<OpenFile> {
  UniqueFd fd;
  ObjectId object = kNoObject;
  OpenFile* next = nullptr;  // next open file of the same object
  bool direct = false;       // O_DIRECT: buffers must be aligned
  // Set if O_DIRECT was added and not recorded: bytes that offsets and lengths must be multiples of to have it. 0: not added. See
  // direct_io.hpp.
  uint32_t block = 0;
  std::shared_mutex directness;  // DirectGuard's; a file with O_DIRECT only
  // Protects the listing of a directory: one readdir at a time.
  std::mutex mutex;
  DirCursor cursor;
  std::string listed;                    // entries that getdents64 returned and no operation has taken yet
  std::optional<uint64_t> second_entry;  // cookie of the second entry, for listings that begin there; 0: not possible
};
using OpenRef = std::shared_ptr<OpenFile>;

// One component of a path, with a NUL behind it. It lies in the object itself, so that a request allocates no memory for it.
class Component {
 public:
  Component() { text_[0] = '\0'; }
  Component(const Component&) = delete;
  Component& operator=(std::string_view name) {  // at most NAME_MAX bytes
    memcpy(text_, name.data(), name.size());
    text_[name.size()] = '\0';
    return *this;
  }
  const char* c_str() const { return text_; }
  bool empty() const { return text_[0] == '\0'; }

 private:
  char text_[NAME_MAX + 1];
};

// The directory that a session used last. It is kept open, so that the session's next operation finds it without a lock.
struct LatestDirectory {
  ObjectId id = kNoObject;
  SharedFd fd;
  uint64_t generation = 0;  // of FileObjects when it was opened
};

// The address of a file for *at() calls: a component below a directory or, with an empty name, the descriptor itself.
struct PathAt {
  SharedFd dir;
  OpenRef open;
  int lent = -1;      // descriptor of a directory that is kept open elsewhere; `dir` is null then
  uint32_t type = 0;  // S_IFMT bits; 0: not known
  Component name;
  int fd() const { return open ? open->fd.get() : dir ? dir->get() : lent; }
  bool is_fd() const { return name.empty(); }
};

// Opens one component as openat() does, but fails with EXDEV if it is a mount point.
int open_here(int dir, const char* name, int flags, uint32_t mode = 0);

// How a target on a mounted 9P names files by paths, so that the kernel's client asks its server for each component.
enum class PathNaming : uint8_t {
  none,
  absolute,  // from the mount point; no directory is kept open
  relative,  // from the directory that was opened last of those still open, else from the one in the root that leads to the file
};

class FileObjects {
 public:
  FileObjects(UniqueFd root, size_t cached, PathNaming by_path = PathNaming::none);

  int root() const { return start_->get(); }  // a directory on the target's file system
  // These return 0 or an errno. ESTALE: the object is unknown. EBADF: the handle is unknown.
  int directory(ObjectId id, SharedFd* fd);
  // Like directory(), but looks into `latest` first, and keeps the directory there unless it has to be found anew each time.
  int directory(ObjectId id, LatestDirectory& latest, PathAt* at);
  // Like directory(), but returns the descriptor. Negative: there is none, or the directory has to be found anew each time.
  int descriptor_of(ObjectId id, LatestDirectory& latest) {
    if (by_path_ != PathNaming::none) return -1;
    return has(latest, id) || renew(latest, id) == 0 ? latest.fd->get() : -1;
  }
  int path_at(ObjectId id, PathAt* at);
  int opened(HandleId id, OpenRef* open);
  OpenRef any_open(ObjectId id);  // returns the open file of one of the object's handles; null: none is open
  // Finds the subject of an operation: its handle if that is open, else its object.
  int subject(const Op& op, PathAt* at);

  void map_id(ObjectId id, ObjectId parent, std::string_view name, uint32_t type);
  // Call before map_id() for a directory that was just made. Forgets the descriptor of an earlier one with this id, which others
  // must have removed.
  void remade(ObjectId id);
  void map_unnamed(ObjectId id, uint32_t type);
  void forget_name(ObjectId id, ObjectId parent, std::string_view name);
  void renamed(const Op& op);
  void add_open(HandleId handle, OpenRef open);
  void enter(OpenRef directory);                     // a directory that was opened; add_open() follows
  bool leave(ObjectId directory);                    // true: paths are relative, and it is no current directory from now on
  OpenRef remove_open(HandleId handle, bool* last);  // returns null if not open; *last: no other handle of the object is open

 private:
  struct Name {
    ObjectId parent = kNoObject;
    std::string name;
    bool is(ObjectId p, std::string_view n) const { return parent == p && name == n; }
  };
  struct Node {
    Name first;
    std::unique_ptr<std::vector<Name>> others;  // further hard links
    OpenFile* opens = nullptr;                  // owned by opens_
    uint32_t type = 0;
    bool named() const { return first.parent != kNoObject; }
    OpenRef open_if_unnamed() const { return opens && !named() ? opens->shared_from_this() : nullptr; }
  };
  static constexpr size_t kMostNames = 256;  // names of one object; those of further hard links are not kept

  static void add_name(Node& node, ObjectId parent, std::string_view name);
  static void remove_name(Node& node, ObjectId parent, std::string_view name);
  bool unlink(OpenFile& open);  // true: no other open file of its object remains
  SharedFd cached(ObjectId id);
  void cache(ObjectId id, SharedFd fd);

  void begin_at_mount_point(const std::string& point);
  SharedFd current_directory(ObjectId id);  // null: it is another one
  bool has(const LatestDirectory& latest, ObjectId id) const {
    return id != kNoObject && latest.id == id && latest.generation == generation_.load(std::memory_order_relaxed);
  }
  int renew(LatestDirectory& latest, ObjectId id);  // returns 0, or an errno with `latest` empty

  SharedFd start_;  // where each descent begins: the target's root, or the mount point with PathNaming::absolute
  std::vector<std::string> to_root_;  // path from there to the root
  PathNaming by_path_ = PathNaming::none;
  const size_t capacity_;
  IdMap<Node> nodes_;
  IdMap<OpenRef> opens_;
  std::atomic<uint64_t> generation_{0};  // number of directories that were made a second time

  std::mutex cache_mutex_;                           // protects what follows
  std::vector<OpenRef> open_directories_;            // in the order of opening; only with PathNaming::relative
  std::list<std::pair<ObjectId, SharedFd>> recent_;  // most recently used first
  std::unordered_map<ObjectId, std::list<std::pair<ObjectId, SharedFd>>::iterator> cache_;
};

}  // namespace fsr
