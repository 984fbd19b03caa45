// SPDX-License-Identifier: Apache-2.0
// Names and attributes. "As in" names the kernel's functions whose effect a piece has.
#include "mix/linux_client.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace fsr {

namespace {

constexpr unsigned kMissesThreshold = 16;  // NFS_READDIR_CACHE_MISS_THRESHOLD

}  // namespace

LinuxClient::LinuxClient(const LinuxClientOptions& options) : options_(options) {}

LinuxClient::Inode& LinuxClient::inode(ObjectId object) {
  Inode& inode = inodes_[object];
  if (object == kRootObject) inode.directory = true;
  return inode;
}

// Follows nfs_update_inode(): attributes confirmed after their timeout are trusted twice as long the next time.
void LinuxClient::refresh(Inode& inode, int64_t now) {
  const int64_t least = inode.directory ? options_.acdirmin : options_.acregmin;
  const int64_t most = inode.directory ? options_.acdirmax : options_.acregmax;
  if (inode.timeout == 0)
    inode.timeout = least;
  else if (now >= inode.timeout_since + inode.timeout)
    inode.timeout = std::min(inode.timeout * 2, most);
  inode.timeout_since = inode.refreshed = now;
  inode.attributes = true;
}

bool LinuxClient::expired(const Inode& inode, int64_t now) const {
  return !inode.attributes || now >= inode.refreshed + inode.timeout;
}

// Follows nfs_update_inode(): an unexpected change time invalidates cached data.
void LinuxClient::confirm(Inode& inode, int64_t now) {
  refresh(inode, now);
  if (inode.data_doubtful || inode.all_doubtful) {
    inode.cached.clear();
    inode.link_cached = inode.listed = false;
  }
  if (inode.all_doubtful) {
    inode.access_invalid = true;
    ++inode.version;
  }
  inode.data_doubtful = inode.all_doubtful = false;
}

void LinuxClient::revalidate(Inode& inode, int64_t now) {
  if (!expired(inode, now)) return;
  request(Wire::getattr);
  confirm(inode, now);
}

// Follows nfs_do_access(): one ACCESS asks for all rights and is remembered for each user. As in nfs_access_zap_cache(), the mark
// of an invalid cache goes only with entries: where there were none, the first new one is thrown away again.
void LinuxClient::check_access(Inode& inode, uint32_t uid, int64_t now) {
  if (inode.access_invalid && !inode.accessible.empty()) {
    inode.accessible.clear();
    inode.access_invalid = false;
  }
  if (options_.nfs_version == 2 || inode.accessible.count(uid)) return revalidate(inode, now);
  request(Wire::access);
  confirm(inode, now);
  inode.accessible.insert(uid);
}

void LinuxClient::foreign_change(Inode& inode, int64_t now) {
  inode.timeout = inode.directory ? options_.acdirmin : options_.acregmin;
  inode.timeout_since = now;
  inode.cached.clear();
  inode.link_cached = inode.listed = false;
  ++inode.version;
}

// A reply's attributes: what the model can't compute, and whether another client changed the object.
void LinuxClient::learn(ObjectId object, const Attr* attr, int64_t now) {
  if (!attr || object == kNoObject) return;
  Inode& i = inode(object);
  if (attr->valid & kAttrMode) i.directory = S_ISDIR(attr->mode);
  if ((attr->valid & kAttrSize) && i.dirty.empty()) i.size = attr->size;
  if (attr->valid & kAttrNlink) i.links = std::max<uint64_t>(attr->nlink, 1);
  if (attr->valid & kAttrMtime) {
    if (i.mtime != 0 && i.mtime != attr->mtime && now > i.mine_until) foreign_change(i, now);
    i.mtime = attr->mtime;
  }
}

void LinuxClient::enter(ObjectId parent, std::string_view name, ObjectId object) {
  Inode& dir = inode(parent);
  dir.names[std::string(name)] = {.object = object, .named_only = false, .version = dir.version};
  if (object != kNoObject) inode(object).parent = parent;
}

// This client made, removed or renamed an entry: the reply has the directory's attributes before and after (wcc_data), so that
// the other entries stay valid; the listing doesn't.
void LinuxClient::changed_entries(ObjectId parent, int64_t now) {
  Inode& dir = inode(parent);
  dir.directory = true;
  dir.listed = false;
  dir.mine_until = now + kSettling;
  refresh(dir, now);
}

// No LOOKUP for a name that is about to be made exclusively, or to be renamed to: inferred from the kernel's nfs_lookup().
bool LinuxClient::spares_lookup(const Thread& thread, const Op& next) const {
  auto same = [&](ObjectId parent, std::string_view name) { return parent == thread.parent && name == thread.name; };
  switch (next.kind) {
    case OpKind::mkdir:
    case OpKind::mknod:
    case OpKind::symlink:
      return same(next.parent, next.name);
    case OpKind::create:
      return (options_.nfs_version == 4 || (options_.nfs_version == 3 && (next.open_flags & O_EXCL))) &&
             same(next.parent, next.name);
    case OpKind::open:  // version 4 looks up by its OPEN
      return options_.nfs_version == 4 && next.object == thread.object;
    case OpKind::link:
    case OpKind::rename:
      return same(next.parent2, next.name2);
    default:
      return false;
  }
}

void LinuxClient::lookup(const Op& op, Thread& thread) {
  if (op.error != 0 && op.error != ENOENT) return;
  Inode& dir = inode(op.parent);
  dir.directory = true;
  check_access(dir, op.uid, op.start);
  const auto known = dir.names.find(std::string(op.name));
  if (known != dir.names.end() && known->second.version == dir.version) {
    Dentry& dentry = known->second;
    const bool missing = dentry.object == kNoObject && !dentry.named_only;
    if (missing == (op.error == ENOENT) && (missing || dentry.named_only || dentry.object == op.object)) {
      revalidate(dir, op.start);
      if (dentry.named_only) {
        dentry.object = op.object;
        dentry.named_only = false;
        const int64_t listed_at = dir.listed_at;
        learn(op.object, op.attr, op.start);
        Inode& i = inode(op.object);
        if (!i.attributes || i.refreshed < listed_at) refresh(i, listed_at);
      } else if (!missing) {
        learn(op.object, op.attr, op.start);
      }
      return;
    }
    foreign_change(dir, op.start);
  }
  request(Wire::lookup);
  enter(op.parent, op.name, op.error ? kNoObject : op.object);
  refresh(dir, op.start);
  thread.looked_up = true;
  thread.parent = op.parent;
  thread.name = op.name;
  thread.object = op.error ? kNoObject : op.object;
  if (op.error) return;
  learn(op.object, op.attr, op.start);
  confirm(inode(op.object), op.start);
}

// Follows nfs_lookup_verify_inode() (close-to-open) and nfs_permission().
void LinuxClient::open(const Op& op, ObjectId fresh) {
  if (op.error) return;
  Inode& i = inode(op.object);
  const bool directory = op.kind == OpKind::opendir;
  if (directory) i.directory = true;
  if (options_.nfs_version == 4 && !directory) {
    request(Wire::open);
    confirm(i, op.start);
    i.accessible.insert(op.uid);
  } else {
    if (options_.close_to_open && fresh != op.object) {
      request(Wire::getattr);
      confirm(i, op.start);
    }
    check_access(i, op.uid, op.start);
  }
  if (!directory) {
    ++i.opens;
    if (op.open_flags & O_TRUNC) {
      if (options_.nfs_version != 4) request(Wire::setattr);  // of version 4 part of the OPEN
      truncate(i, 0);
      i.data_doubtful = true;
      i.mine_until = op.start + kSettling;
    }
  }
  handles_[op.handle] = Handle{.object = op.object, .flags = op.open_flags};
}

void LinuxClient::create(const Op& op) {
  if (!op.error && !op.has(kOpCreated)) {
    open(op, op.object);
    return;
  }
  request(options_.nfs_version == 4 ? Wire::open : Wire::create);
  if (op.error) return;
  if ((op.open_flags & O_EXCL) && options_.nfs_version == 3) request(Wire::exclusive);
  enter(op.parent, op.name, op.object);
  // An exclusively created name has no verifier, so its next use needs a LOOKUP.
  if (op.open_flags & O_EXCL) --inode(op.parent).names[std::string(op.name)].version;
  changed_entries(op.parent, op.start);
  Inode& i = inode(op.object);
  i.opens = 1;
  i.mine_until = op.start + kSettling;
  refresh(i, op.start);
  handles_[op.handle] = Handle{.object = op.object, .flags = op.open_flags};
}

void LinuxClient::make(const Op& op, Wire wire) {
  request(wire);
  if (op.error) return;
  const bool linked = op.kind == OpKind::link;
  const ObjectId parent = linked ? op.parent2 : op.parent;
  enter(parent, linked ? op.name2 : op.name, op.object);
  changed_entries(parent, op.start);
  Inode& i = inode(op.object);
  i.directory = op.kind == OpKind::mkdir;
  i.mine_until = op.start + kSettling;
  if (linked) {
    ++i.links;
    i.all_doubtful = true;  // LINK's reply has the new change time
  }
  confirm(i, op.start);
  i.link_cached = op.kind == OpKind::symlink;
}

// Follows nfs_unlink(): an open file gets another name, looked up first, and is removed when it is closed.
bool LinuxClient::silly_rename(ObjectId object) {
  const auto found = inodes_.find(object);
  if (found == inodes_.end() || found->second.opens == 0 || found->second.silly) return false;
  request(Wire::lookup);
  request(Wire::rename);
  found->second.silly = true;
  return true;
}

void LinuxClient::drop_link(ObjectId object) {
  const auto found = inodes_.find(object);
  if (found == inodes_.end()) return;
  Inode& i = found->second;
  if (i.links <= 1 && i.opens == 0) {
    inodes_.erase(found);
  } else {
    i.links = std::max<uint64_t>(i.links - 1, 1);
    i.attributes = false;
    i.all_doubtful = true;
  }
}

void LinuxClient::remove(const Op& op) {
  Inode& dir = inode(op.parent);
  ObjectId object = op.object;
  const auto known = dir.names.find(std::string(op.name));
  if (object == kNoObject && known != dir.names.end()) object = known->second.object;
  const bool directory = op.kind == OpKind::rmdir;
  const bool silly = !directory && !op.error && object != kNoObject && silly_rename(object);
  if (!silly) request(directory ? Wire::rmdir : Wire::remove);
  if (op.error) return;
  if (silly)
    dir.names.erase(std::string(op.name));
  else
    enter(op.parent, op.name, kNoObject);
  changed_entries(op.parent, op.start);
  if (directory)
    inodes_.erase(object);
  else if (object != kNoObject && !silly)
    drop_link(object);
}

// Follows nfs_rename().
void LinuxClient::rename(const Op& op) {
  if (op.object != kNoObject) write_back(inode(op.object), op.start);
  const bool replaced_open = !op.error && op.object2 != kNoObject && silly_rename(op.object2);
  request(Wire::rename);
  if (op.error) return;
  if (op.object2 != kNoObject && !replaced_open) drop_link(op.object2);
  inode(op.parent).names.erase(std::string(op.name));
  if (op.object != kNoObject) {
    enter(op.parent2, op.name2, op.object);
    inode(op.object).attributes = false;
    inode(op.object).all_doubtful = true;
  }
  changed_entries(op.parent, op.start);
  changed_entries(op.parent2, op.start);
}

void LinuxClient::setattr(const Op& op) {
  Inode& i = inode(op.object);
  write_back(i, op.start);
  request(Wire::setattr);
  if (op.error) return;
  if (op.set && (op.set->valid & (kAttrMode | kAttrUid | kAttrGid))) i.access_invalid = true;
  if (op.set && (op.set->valid & kAttrSize)) truncate(i, op.set->size);
  i.data_doubtful = true;
  i.mine_until = op.start + kSettling;
  refresh(i, op.start);
}

// Follows nfs_readdir(): one READDIRPLUS fills a reply's size with entries and brings their attributes along.
void LinuxClient::list(const Op& op) {
  if (op.error) return;
  Inode& dir = inode(op.object);
  Handle& handle = handles_[op.handle];
  dir.directory = true;
  auto ask = [&] {
    request(options_.nfs_version == 2 ? Wire::readdir : Wire::readdirplus);
    refresh(dir, op.start);
    handle.reply_bytes = 0;
    dir.listed_at = op.start;
  };
  if (op.offset == 0) {
    revalidate(dir, op.start);
    handle.reply_bytes = UINT64_MAX;
    if (!dir.listed) ask();
    dir.listed = true;
  } else if (dir.misses >= kMissesThreshold) {
    ask();  // as in nfs_readdir_handle_cache_misses(): once more, for the attributes
  }
  dir.misses = 0;
  if (handle.reply_bytes == UINT64_MAX) return;
  for (const DirEntry& entry : op.entries) {
    if (entry.name == "." || entry.name == "..") continue;
    // fileid, name, cookie, attributes and a handle of some 32 bytes, each with what says how long it is or that it is there.
    const uint64_t bytes = 4 + 8 + 4 + (entry.name.size() + 3) / 4 * 4 + 8 + 4 + 84 + 4 + 4 + 32;
    if (handle.reply_bytes + bytes > options_.dtsize) ask();
    handle.reply_bytes += bytes;
    Dentry& dentry = dir.names[std::string(entry.name)];
    if (dentry.object == kNoObject)
      dentry.named_only = true;
    else
      confirm(inode(dentry.object), op.start);
    dentry.version = dir.version;
  }
}

void LinuxClient::close(const Op& op) {
  const auto found = handles_.find(op.handle);
  if (found == handles_.end()) return;
  const ObjectId object = found->second.object;
  const bool writable = (found->second.flags & O_ACCMODE) != O_RDONLY;
  handles_.erase(found);
  if (op.kind == OpKind::releasedir) return;
  if (options_.nfs_version == 4) request(Wire::close);
  const auto at = inodes_.find(object);
  if (at == inodes_.end()) return;
  Inode& i = at->second;
  if (writable) {
    if (!i.silly) write_back(i, op.start);
    i.mine_until = op.start + kSettling;
  }
  if (i.opens > 0) --i.opens;
  if (i.silly && i.opens == 0) {
    request(Wire::remove);
    inodes_.erase(at);
  }
}

// Version 3 locks by a protocol of its own.
void LinuxClient::lock(const Op& op) {
  if (options_.nfs_version != 4) return;
  if (op.kind == OpKind::getlk) return request(Wire::lockt);
  const bool unlock = op.kind == OpKind::flock ? op.mode == LOCK_UN : op.mode == F_UNLCK;
  if (unlock) write_back(inode(op.object), op.start);
  request(unlock ? Wire::locku : Wire::lock);
}

void LinuxClient::apply(const Op& op) {
  ObjectId fresh = kNoObject;
  if (!op.has(kOpKernel)) {
    Thread& thread = threads_[op.thread];
    if (thread.looked_up) {
      if (spares_lookup(thread, op)) sent_.take_back(Wire::lookup);
      fresh = thread.object;
      thread.looked_up = false;
    }
    if (op.kind == OpKind::lookup) return lookup(op, thread);
  }
  switch (op.kind) {
    case OpKind::getattr:
    case OpKind::statx: {
      if (op.error) break;
      Inode& i = inode(op.object);
      if (!i.directory) write_back(i, op.start);  // as in nfs_getattr(): the server's times are asked for
      if (expired(i, op.start) && i.parent != kNoObject) ++inode(i.parent).misses;
      revalidate(i, op.start);
      learn(op.object, op.attr, op.start);
      break;
    }
    case OpKind::setattr:
      setattr(op);
      break;
    case OpKind::access:
      check_access(inode(op.object), op.uid, op.start);
      break;
    case OpKind::readlink: {
      Inode& i = inode(op.object);
      revalidate(i, op.start);
      if (!i.link_cached) request(Wire::readlink);
      i.link_cached = !op.error;
      break;
    }
    case OpKind::open:
    case OpKind::opendir:
      open(op, fresh);
      break;
    case OpKind::create:
      create(op);
      break;
    case OpKind::read:
      if (!op.error) read(inode(op.object), handles_[op.handle], op.offset, op.result);
      break;
    case OpKind::write:
      if (!op.error) write(inode(op.object), handles_[op.handle], op.offset, op.result, op.start);
      break;
    case OpKind::copy_file_range:
      if (op.error) break;
      read(inode(op.object), handles_[op.handle], op.offset, op.result);
      write(inode(op.object2), handles_[op.handle2], op.offset2, op.result, op.start);
      break;
    case OpKind::fallocate:
      if (options_.nfs_version == 4) request((op.mode & FALLOC_FL_PUNCH_HOLE) ? Wire::deallocate : Wire::allocate);
      break;
    case OpKind::flush:
      if (const auto handle = handles_.find(op.handle);
          handle != handles_.end() && (handle->second.flags & O_ACCMODE) != O_RDONLY)
        write_back(inode(op.object), op.start);
      break;
    case OpKind::fsync:
      write_back(inode(op.object), op.start);
      break;
    case OpKind::release:
    case OpKind::releasedir:
      close(op);
      break;
    case OpKind::readdir:
    case OpKind::readdirplus:
      list(op);
      break;
    case OpKind::mkdir:
      make(op, Wire::mkdir);
      break;
    case OpKind::mknod:
      make(op, Wire::mknod);
      break;
    case OpKind::symlink:
      make(op, Wire::symlink);
      break;
    case OpKind::link:
      make(op, Wire::link);
      break;
    case OpKind::unlink:
    case OpKind::rmdir:
      remove(op);
      break;
    case OpKind::rename:
      rename(op);
      break;
    case OpKind::statfs:
      request(Wire::fsstat);
      break;
    case OpKind::getlk:
    case OpKind::setlk:
    case OpKind::flock:
      lock(op);
      break;
    case OpKind::syncfs:
      for (auto& [object, i] : inodes_) write_back(i, op.start);
      break;
    default:
      break;  // stays in the client, or is none of this protocol's
  }
}

}  // namespace fsr
