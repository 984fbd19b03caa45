// SPDX-License-Identifier: Apache-2.0
// lookup, mkdir, mknod, symlink, link, unlink, rmdir, rename: what works on names in a directory.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "passthrough.hpp"
#include "permission.hpp"
#include "space_limits.hpp"
#include "special_files.hpp"

namespace fsr::shim {

namespace {

void lookup(fuse_req_t req, fuse_ino_t parent_ino, const char* name) {
  Request r(req, OpKind::lookup);
  Inode* parent = r.inode(parent_ino);
  r.op.parent = parent->id;
  r.op.name = name;
  r.begin();
  LowerFd dir(r.shim.inodes, parent);
  if (dir.value() < 0) return r.fail(-dir.value());
  EntryCache::LookupPolicy way = r.shim.entries.search(*parent, dir.value(), r.caller);
  fuse_entry_param entry;
  int error;
  {
    CallerScope as_caller(r.caller, way.as_caller ? CallerScope::kAll : CallerScope::kNothing, {dir.value()});
    error = look_up(r, dir.value(), parent, name, way.timeout, &entry);
  }
  if (error != 0) return r.fail(error);
  guard_special(r, &entry);
  answer_entry(r, entry);
}

// mkdir, mknod and symlink: `make` creates the name as the caller and answers 0 or -1 with errno.
template <class Make>
void make_name(Request& r, fuse_ino_t parent_ino, const char* name, mode_t mode, Make make) {
  Inode* parent = r.inode(parent_ino);
  r.op.parent = parent->id;
  r.op.name = name;
  r.begin();
  LowerFd dir(r.shim.inodes, parent);
  if (dir.value() < 0) return r.fail(-dir.value());
  EntryCache::LookupPolicy way = r.shim.entries.search(*parent, dir.value(), r.caller);
  fuse_entry_param entry;
  int error;
  {
    CallerScope as_caller(r.caller, extent_to_make(r, *parent, dir.value(), mode), {dir.value()});
    thread_umask(r.caller.umask);
    error = make(dir.value()) == 0 ? 0 : errno;
  }
  // The caller may write into a directory that it can't search; the new file is looked up with the process's own rights.
  if (error == 0) error = look_up(r, dir.value(), parent, name, way.timeout, &entry);
  if (error != 0) return r.fail(error);
  r.made(mode);
  answer_entry(r, entry);
}

void mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  Request r(req, OpKind::mkdir);
  r.op.mode = mode & ~r.caller.umask;
  make_name(r, parent, name, mode, [&](int dir) { return mkdirat(dir, name, mode); });
}

void mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t rdev) {
  Request r(req, OpKind::mknod);
  r.op.mode = mode & ~r.caller.umask;
  r.op.flags = uint32_t(rdev);
  make_name(r, parent, name, mode, [&](int dir) { return mknodat(dir, name, mode, rdev); });
}

void symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name) {
  Request r(req, OpKind::symlink);
  r.op.data = target;
  make_name(r, parent, name, 0, [&](int dir) { return symlinkat(target, dir, name); });
}

void link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent_ino, const char* new_name) {
  Request r(req, OpKind::link);
  Inode* inode = r.inode(ino);
  Inode* parent = r.inode(new_parent_ino);
  r.op.object = inode->id;
  r.op.parent2 = parent->id;
  r.op.name2 = new_name;
  r.begin();
  LowerFd fd(r.shim.inodes, inode), dir(r.shim.inodes, parent);
  if (fd.value() < 0 || dir.value() < 0) return r.fail(-std::min(fd.value(), dir.value()));
  EntryCache::LookupPolicy way = r.shim.entries.search(*parent, dir.value(), r.caller);
  bool own = plainly_owned(r.caller, *parent, dir.value(), W_OK | X_OK) && plainly_owned(r.caller, *inode, fd.value(), 0);
  int error;
  {
    CallerScope as_caller(r.caller, caller_extent(*parent, dir.value(), own ? CallerScope::kNothing : CallerScope::kAll),
                          {fd.value(), {dir.value(), CapabilityTarget::kNewName}});
    error = linkat(r.shim.proc_fd, FdPath(fd.value()).text, dir.value(), new_name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  }
  fuse_entry_param entry;
  if (error == 0) r.shim.inodes.linked(parent, dir.value(), new_name);
  if (error == 0) error = look_up(r, dir.value(), parent, new_name, way.timeout, &entry);
  if (error != 0) return r.fail(error);
  // The new name is one of the inode that the kernel named.
  entry.ino |= ino & kStandIn;
  entry.attr.st_mode = shown_mode(entry.ino, entry.attr.st_mode);
  answer_entry(r, entry);
}

// The file that a name stands for just before it moves or is removed. It is named in the trace, and kept reachable while it is in
// use.
struct Target {
  bool known = false;
  FileKey key;
  uint32_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;

  Target(Request& r, const Inode* parent, int dir, const char* name, bool goes) {
    Shim& shim = r.shim;
    int fd = open_at(shim, dir, name, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0) return;
    struct statx s;
    if (shim.inodes.stat_at(fd, "", &s) != 0) {
      close(fd);
      return;
    }
    known = true;
    key = shim.inodes.key_at(s, fd, parent, name);
    mode = s.stx_mode;
    uid = s.stx_uid;
    gid = s.stx_gid;
    // Another name keeps a file reachable.
    last = goes && (s.stx_nlink <= 1 || S_ISDIR(mode));
    if (last)
      pinned = shim.inodes.pin(key, fd, r.caller.uid);
    else
      shim.inodes.keep(key, fd);
  }
  ObjectId id(InodeTable& inodes) const { return known ? inodes.id_of(key) : kNoObject; }
  // `elsewhere`: it gets a name in another directory.
  CapabilityTarget in(int dir, bool elsewhere = false) const {
    if (!known) return CapabilityTarget(dir, CapabilityTarget::kNewName);
    return CapabilityTarget(dir, uid, gid,
                            elsewhere && S_ISDIR(mode) ? CapabilityTarget::kMovedDirectory : CapabilityTarget::kOldName);
  }
  void gone(InodeTable& inodes) const {
    if (last) inodes.removed(key);
  }
  void stays(InodeTable& inodes) const {
    if (pinned) inodes.unpin(key);
  }

 private:
  bool last = false, pinned = false;
};

void remove_name(fuse_req_t req, fuse_ino_t parent_ino, const char* name, OpKind kind, int flags) {
  Request r(req, kind);
  Inode* parent = r.inode(parent_ino);
  r.op.parent = parent->id;
  r.op.name = name;
  r.begin();
  LowerFd dir(r.shim.inodes, parent);
  if (dir.value() < 0) return r.fail(-dir.value());
  NameChanges::Scope changing(parent->name_changes);
  Target victim(r, parent, dir.value(), name, true);
  r.op.object = victim.id(r.shim.inodes);
  bool own = plainly_owned(r.caller, *parent, dir.value(), W_OK | X_OK);
  int error;
  {
    CallerScope as_caller(r.caller, own ? CallerScope::kNothing : CallerScope::kAll, {victim.in(dir.value())});
    error = unlinkat(dir.value(), name, flags) == 0 ? 0 : errno;
  }
  if (error == 0)
    victim.gone(r.shim.inodes);
  else
    victim.stays(r.shim.inodes);
  r.fail(error);
}

void unlink(fuse_req_t req, fuse_ino_t parent, const char* name) { remove_name(req, parent, name, OpKind::unlink, 0); }

void rmdir(fuse_req_t req, fuse_ino_t parent, const char* name) { remove_name(req, parent, name, OpKind::rmdir, AT_REMOVEDIR); }

void rename(fuse_req_t req, fuse_ino_t parent_ino, const char* name, fuse_ino_t new_parent_ino, const char* new_name,
            unsigned flags) {
  Request r(req, OpKind::rename);
  Inode* parent = r.inode(parent_ino);
  Inode* new_parent = r.inode(new_parent_ino);
  r.op.parent = parent->id;
  r.op.name = name;
  r.op.parent2 = new_parent->id;
  r.op.name2 = new_name;
  r.op.flags = flags;
  r.begin();
  LowerFd dir(r.shim.inodes, parent), new_dir(r.shim.inodes, new_parent);
  if (dir.value() < 0 || new_dir.value() < 0) return r.fail(-std::min(dir.value(), new_dir.value()));
  NameChanges::Scope changing(parent->name_changes), changing_new(new_parent->name_changes);
  Target moving(r, parent, dir.value(), name, false), victim(r, new_parent, new_dir.value(), new_name, true);
  r.op.object = moving.id(r.shim.inodes);
  r.op.object2 = victim.id(r.shim.inodes);
  bool own = moving.known && !S_ISDIR(moving.mode) && !S_ISDIR(victim.mode) &&
             (flags & ~unsigned(RENAME_NOREPLACE | RENAME_EXCHANGE)) == 0 &&
             plainly_owned(r.caller, *parent, dir.value(), W_OK | X_OK) &&
             (parent == new_parent || plainly_owned(r.caller, *new_parent, new_dir.value(), W_OK | X_OK));
  int error;
  {
    CallerScope as_caller(r.caller, caller_extent(*new_parent, new_dir.value(), own ? CallerScope::kNothing : CallerScope::kAll),
                          {moving.in(dir.value(), parent != new_parent),
                           victim.in(new_dir.value(), parent != new_parent && (flags & RENAME_EXCHANGE))});
    error = renameat2(dir.value(), name, new_dir.value(), new_name, flags) == 0 ? 0 : errno;
  }
  bool replaced = error == 0 && !(flags & RENAME_EXCHANGE) && !(moving.known && victim.key == moving.key);
  if (replaced)
    victim.gone(r.shim.inodes);
  else
    victim.stays(r.shim.inodes);
  if (error == 0 && moving.known) r.shim.inodes.moved(moving.key, new_parent, new_name);
  if (error == 0 && (flags & RENAME_EXCHANGE)) r.shim.inodes.moved(victim.key, parent, name);
  if (error == 0) r.shim.entries.moved(*parent, dir.value(), *new_parent, new_dir.value(), (flags & RENAME_EXCHANGE) != 0);
  r.fail(error);
}

}  // namespace

void add_name_operations(fuse_lowlevel_ops& ops) {
  ops.lookup = identified<lookup>;
  ops.mkdir = identified<mkdir>;
  ops.mknod = identified<mknod>;
  ops.symlink = identified<symlink>;
  ops.link = identified<link>;
  ops.unlink = identified<unlink>;
  ops.rmdir = identified<rmdir>;
  ops.rename = identified<rename>;
}

}  // namespace fsr::shim
