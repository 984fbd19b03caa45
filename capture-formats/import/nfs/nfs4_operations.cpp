// SPDX-License-Identifier: Apache-2.0
// Translates each operation of NFSv4 into an operation of a trace. Failed ones have only arguments.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "clone.hpp"
#include "nfs/access.hpp"
#include "nfs4_compound.hpp"

namespace fsr::capture {

using nfs4::OpNum;

// Fills op_ from the NFSv4 operation. False: there is no operation of a trace for it.
bool Nfs4Compound::describe() {
  const OpNum number = OpNum(asked_.number);
  return describe_name(number) || describe_data(number) || describe_state(number);
}

bool Nfs4Compound::describe_name(OpNum number) {
  const bool removal = number == OpNum::remove, renames = number == OpNum::rename;
  switch (number) {
    case OpNum::create:
      describe_create();
      return true;
    case OpNum::lookup:
      op_.kind = OpKind::lookup;
      finds_ = Finds::found;
      break;
    case OpNum::remove:
    case OpNum::rename:
      op_.kind = renames ? OpKind::rename : OpKind::unlink;
      break;
    case OpNum::link:
      op_.kind = OpKind::link;
      op_.object = saved_;
      op_.parent2 = current_;
      op_.name2 = asked_.name;
      return true;
    default:
      return false;
  }
  op_.object = kNoObject;
  op_.parent = parent_ = renames ? saved_ : current_;
  op_.name = name_ = asked_.name;
  if (renames) {
    op_.parent2 = current_;
    op_.name2 = asked_.name2;
  }
  if (removal) {
    const ObjectId object = files_.named(current_, asked_.name);
    const bool directory = removes_ == OpKind::rmdir || files_.directory(object) || op_.error == ENOTEMPTY;
    if (directory) op_.kind = OpKind::rmdir;
    if (!object && removes_ == OpKind::null) op_.op_flags |= kOpInferred;  // REMOVE takes both
  }
  if (!op_.error) files_.infer(&op_);
  return true;
}

void Nfs4Compound::describe_create() {
  set_ = asked_.set;
  op_.kind = asked_.bits == S_IFDIR ? OpKind::mkdir : asked_.bits == S_IFLNK ? OpKind::symlink : OpKind::mknod;
  op_.object = kNoObject;
  op_.parent = parent_ = current_;
  op_.name = name_ = asked_.name;
  op_.data = asked_.data;
  if (op_.kind != OpKind::symlink) op_.mode = set_.mode & 07777;
  if (op_.kind == OpKind::mknod) {
    op_.mode |= asked_.bits;
    op_.flags = uint32_t(set_.rdev);
  }
  finds_ = Finds::made;
}

bool Nfs4Compound::describe_data(OpNum number) {
  op_.offset = asked_.offset;
  op_.length = asked_.length;
  switch (number) {
    case OpNum::read:
    case OpNum::write:
      op_.kind = number == OpNum::read ? OpKind::read : OpKind::write;
      op_.result = number == OpNum::read ? reply_.data.size() : reply_.count;
      break;
    case OpNum::allocate:
    case OpNum::deallocate:
      op_.kind = OpKind::fallocate;
      op_.mode = number == OpNum::allocate ? 0 : FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
      break;
    case OpNum::seek:
      op_.kind = OpKind::lseek;
      op_.mode = asked_.bits ? SEEK_HOLE : SEEK_DATA;
      op_.result = reply_.offset;
      if (!op_.error && reply_.eof && op_.mode == SEEK_DATA) op_.error = ENXIO;
      break;
    case OpNum::read_plus: {
      op_.kind = OpKind::read;
      const auto read = nfs4::read_of_segments(reply_.segments, reply_.eof, asked_.offset, asked_.length);
      if (!op_.error && !read) return false;
      op_.result = read ? read->bytes : 0;
      break;
    }
    case OpNum::copy:
    case OpNum::clone:
      op_.kind = OpKind::copy_file_range;
      op_.flags = number == OpNum::clone ? kCopyClone : 0;
      op_.object = saved_;
      op_.object2 = current_;
      op_.handle2 = handle(asked_.stateid2);
      op_.offset2 = asked_.offset2;
      op_.result = number == OpNum::clone ? asked_.length : reply_.count;
      break;
    case OpNum::setattr:
      op_.kind = OpKind::setattr;
      set_ = asked_.set;
      op_.set = &set_;
      break;
    default:
      return false;
  }
  op_.handle = handle(asked_.stateid);
  if (op_.error) op_.result = 0;
  return true;
}

void Nfs4Compound::describe_listing() {
  constexpr uint32_t kFurther = 1u << nfs4::kSize;
  op_.kind = asked_.mask[0] & kFurther ? OpKind::readdirplus : OpKind::readdir;
  for (const nfs::Entry& e : reply_.entries)
    if (valid_component(e.name)) entries_.push_back({e.name, e.fileid, e.type});
  op_.entries = entries_;
  op_.result = entries_.size();
  listing_ends_ = reply_.eof;
}

bool Nfs4Compound::describe_state(OpNum number) {
  switch (number) {
    case OpNum::open:
      return describe_open();
    case OpNum::close:
      return close();
    case OpNum::lock:
    case OpNum::lockt:
    case OpNum::locku:
      return describe_lock();
    case OpNum::commit:
      op_.kind = OpKind::fsync;
      return true;
    case OpNum::access:
      op_.kind = OpKind::access;
      op_.mode = access_mode(asked_.bits);
      if (!op_.error && !nfs::access_granted(op_.mode, reply_.access)) op_.error = EACCES;
      return true;
    case OpNum::getattr: {
      const bool space = asked_.mask[1] & (1u << (nfs4::kSpaceTotal % 32) | 1u << (nfs4::kSpaceAvailable % 32));
      op_.kind = space && !(asked_.mask[0] & 1u << nfs4::kSize) ? OpKind::statfs : OpKind::getattr;
      attr_ = reply_.attr;
      if (op_.kind == OpKind::getattr && attr_.valid) op_.attr = &attr_;
      return true;
    }
    case OpNum::readlink:
      op_.kind = OpKind::readlink;
      op_.data = reply_.data;
      return true;
    case OpNum::readdir:
      describe_listing();
      return true;
    case OpNum::getxattr:
    case OpNum::setxattr:
    case OpNum::listxattrs:
    case OpNum::removexattr:
      return describe_xattr();
    default:
      return false;
  }
}

// Names of RFC 8276 stand for those of Linux's "user." namespace.
bool Nfs4Compound::describe_xattr() {
  constexpr std::string_view kNamespace = "user.";
  constexpr uint32_t kCreate = 1, kReplace = 2;
  xattr_ = std::string(kNamespace) + std::string(asked_.name);
  op_.name = xattr_;
  op_.offset = 0;
  switch (OpNum(asked_.number)) {
    case OpNum::getxattr:
      op_.kind = OpKind::getxattr;
      op_.result = op_.length = reply_.data.size();
      return true;
    case OpNum::setxattr:
      op_.kind = OpKind::setxattr;
      op_.length = asked_.data.size();
      op_.flags = asked_.bits == kCreate ? XATTR_CREATE : asked_.bits == kReplace ? XATTR_REPLACE : 0;
      return true;
    case OpNum::removexattr:
      op_.kind = OpKind::removexattr;
      return true;
    default:
      op_.kind = OpKind::listxattr;
      op_.name = {};
      op_.length = asked_.length;
      for (const nfs::Entry& e : reply_.entries) op_.result += kNamespace.size() + e.name.size() + 1;
      return true;
  }
}

bool Nfs4Compound::describe_lock() {
  constexpr short kModes[] = {F_UNLCK, F_RDLCK, F_WRLCK, F_RDLCK, F_WRLCK};
  const OpNum number = OpNum(asked_.number);
  if (asked_.reclaims || asked_.bits >= std::size(kModes)) {
    sink_.note(ImportNotes::ignored, "locks that were reclaimed after a restart of the server", 1);
    return false;
  }
  op_.kind = number == OpNum::lockt ? OpKind::getlk : OpKind::setlk;
  op_.mode = uint32_t(number == OpNum::locku ? F_UNLCK : kModes[asked_.bits]);
  if (number == OpNum::lock && asked_.bits > 2) op_.op_flags |= kOpWait;
  op_.offset = asked_.offset;
  op_.length = asked_.length == UINT64_MAX ? 0 : asked_.length;
  const bool named = number == OpNum::lockt || asked_.first_lock;
  op_.owner = named ? states_.owner(call_.client, asked_.owner) : states_.lock_owner(asked_.stateid);
  op_.handle = number == OpNum::lockt ? 0 : handle(asked_.stateid);
  if (number == OpNum::lockt && failed_ == nfs4::kDenied) op_.error = 0;  // who has it was found
  if (number == OpNum::lock && asked_.first_lock && !op_.error) states_.locked(reply_.stateid, asked_.stateid, op_.owner);
  return true;
}

bool Nfs4Compound::describe_open() {
  constexpr uint32_t kFlags[] = {O_RDONLY, O_RDONLY, O_WRONLY, O_RDWR};
  if (asked_.claim == Claim::previous) {
    sink_.note(ImportNotes::changed,
               "opens that were reclaimed after a restart of the server: later operations have no open instance", 1);
    return false;
  }
  const bool by_name =
      asked_.claim == Claim::name || asked_.claim == Claim::delegate_name || asked_.claim == Claim::delegate_previous;
  op_.kind = OpKind::open;
  op_.open_flags = kFlags[asked_.bits];
  opens_ = true;
  state_ = reply_.stateid;
  if (!by_name) return true;
  finds_ = Finds::found;
  parent_ = current_;
  name_ = asked_.name;
  op_.object = kNoObject;
  if (asked_.creates) {
    op_.kind = OpKind::create;
    op_.parent = parent_;
    op_.name = name_;
    op_.mode = S_IFREG | (asked_.set.valid & kAttrMode ? asked_.set.mode & 07777 : 0644);
    op_.open_flags |= O_CREAT | (asked_.exclusive ? O_EXCL : 0);
    if ((asked_.set.valid & kAttrSize) && asked_.set.size == 0) op_.open_flags |= O_TRUNC;
    if (asked_.exclusive || reply_.changed) op_.op_flags |= kOpCreated;
    if (!asked_.exclusive && !reply_.changed_atomic) op_.op_flags |= kOpInferred;
  } else if (op_.error == ENOENT) {
    op_.kind = OpKind::lookup;
    op_.op_flags |= kOpInferred;
    op_.parent = parent_;
    op_.name = name_;
  } else if (op_.error) {
    resolve({});
  }
  return true;
}

// A CLOSE ends all opens that share its state.
bool Nfs4Compound::close() {
  const nfs4::Stateid state = asked_.stateid == nfs4::kCurrent ? state_ : asked_.stateid;
  op_.kind = OpKind::release;
  op_.handle = states_.handle(state);
  if (!op_.handle) {
    sink_.note(ImportNotes::ignored, "closes of files whose open was not seen", 1);
    return false;
  }
  if (op_.error) return true;
  const std::vector<HandleId> ended = states_.closed(state);
  Op other = op_;
  other.op_flags |= kOpInferred;
  for (HandleId h : ended)
    if ((other.handle = h) != op_.handle) files_.add(call_.client, other);
  return true;
}

}  // namespace fsr::capture
