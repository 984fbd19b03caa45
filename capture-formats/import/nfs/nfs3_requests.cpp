// SPDX-License-Identifier: Apache-2.0
#include "nfs3_requests.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "nfs/access.hpp"

namespace fsr::capture {

using nfs::Proc;
using nfs::XdrDecoder;

namespace {

constexpr size_t kLongestNfs3Name = 4096;

int64_t decode_time(XdrDecoder& in) {
  const int64_t seconds = in.u32();
  return seconds * 1'000'000'000 + in.u32();
}

// sattr3, RFC 1813.
void decode_set(XdrDecoder& in, Attr* set) {
  *set = {};
  auto take = [&](uint32_t bit, uint32_t* into) {
    if (!in.boolean()) return;
    *into = in.u32();
    set->valid |= bit;
  };
  take(kAttrMode, &set->mode);
  take(kAttrUid, &set->uid);
  take(kAttrGid, &set->gid);
  if (in.boolean()) {
    set->size = in.u64();
    set->valid |= kAttrSize;
  }
  auto time = [&](uint32_t given, uint32_t now, int64_t* into) {
    const uint32_t how = in.u32();
    if (how > 2) return in.fail();
    if (how == 1) set->valid |= now;
    if (how != 2) return;
    *into = decode_time(in);
    set->valid |= given;
  };
  time(kAttrAtime, kAttrAtimeNow, &set->atime);
  time(kAttrMtime, kAttrMtimeNow, &set->mtime);
}

constexpr OpKind kKinds[nfs::kProcs] = {OpKind::null,     OpKind::getattr, OpKind::setattr,     OpKind::lookup, OpKind::access,
                                        OpKind::readlink, OpKind::read,    OpKind::write,       OpKind::create, OpKind::mkdir,
                                        OpKind::symlink,  OpKind::mknod,   OpKind::unlink,      OpKind::rmdir,  OpKind::rename,
                                        OpKind::link,     OpKind::readdir, OpKind::readdirplus, OpKind::statfs, OpKind::statfs,
                                        OpKind::statfs,   OpKind::fsync};

}  // namespace

ObjectId Nfs3Requests::object(XdrDecoder& in) {
  nfs::FileHandle handle;
  return nfs::decode_handle(in, &handle) ? files_.object(handle.view()) : kNoObject;
}

bool Nfs3Requests::arguments(Proc proc, XdrDecoder& in, Op* op) {
  const bool named = proc == Proc::lookup || (proc >= Proc::create && proc <= Proc::rename);
  (named ? op->parent : op->object) = object(in);
  if (named) op->name = in.opaque(kLongestNfs3Name);
  switch (proc) {
    case Proc::setattr:
      decode_set(in, &set_);
      op->set = &set_;
      break;
    case Proc::access:
      op->mode = access_mode(in.u32());
      break;
    case Proc::read:
    case Proc::write:
      op->offset = in.u64();
      op->length = in.u32();
      break;
    case Proc::create: {
      const uint32_t how = in.u32();  // unchecked, guarded, exclusive
      op->open_flags = O_CREAT | O_RDWR | (how ? O_EXCL : 0);
      set_ = {};
      if (how < 2) decode_set(in, &set_);
      if (set_.valid & kAttrSize && set_.size == 0) op->open_flags |= O_TRUNC;
      op->mode = S_IFREG | (set_.valid & kAttrMode ? set_.mode & 07777 : 0644);
      break;
    }
    case Proc::mkdir:
      decode_set(in, &set_);
      op->mode = set_.mode & 07777;
      break;
    case Proc::symlink:
      decode_set(in, &set_);
      op->data = in.opaque(65536);
      break;
    case Proc::mknod: {
      constexpr uint32_t kTypes[] = {0, 0, 0, S_IFBLK, S_IFCHR, 0, S_IFSOCK, S_IFIFO};
      const uint32_t type = in.u32();
      if (type >= std::size(kTypes) || !kTypes[type]) return false;
      decode_set(in, &set_);
      op->mode = kTypes[type] | (set_.mode & 07777);
      break;
    }
    case Proc::rename:
      op->parent2 = object(in);
      op->name2 = in.opaque(kLongestNfs3Name);
      break;
    case Proc::link:
      op->parent2 = object(in);
      op->name2 = in.opaque(kLongestNfs3Name);
      break;
    case Proc::readdir:
    case Proc::readdirplus:
      op->offset = in.u64();
      in.u64();  // verifier
      if (proc == Proc::readdirplus) in.u32();
      op->length = in.u32();
      break;
    case Proc::fsinfo:
      op->flags = kStatfsInfo;
      break;
    case Proc::pathconf:
      op->flags = kStatfsNames;
      break;
    default:
      break;
  }
  return in.ok();
}

void Nfs3Requests::outcome(Proc proc, Op* op) {
  op->error = nfs::status_errno(reply_.status);
  if (op->error) return;
  attr_ = reply_.attr;
  if (attr_.valid) op->attr = &attr_;
  switch (proc) {
    case Proc::lookup:
    case Proc::create:
      op->object = files_.found(reply_.handle.view(), op->parent, op->name);
      break;
    case Proc::mkdir:
    case Proc::symlink:
    case Proc::mknod:
      op->object = files_.made(reply_.handle.view());
      break;
    case Proc::access:
      if (!nfs::access_granted(op->mode, reply_.access)) op->error = EACCES;
      break;
    case Proc::readlink:
      op->data = reply_.data;
      break;
    case Proc::read:
    case Proc::write:
      op->result = reply_.count;
      break;
    case Proc::readdir:
    case Proc::readdirplus:
      entries_.clear();
      for (const nfs::Entry& e : reply_.entries)
        if (valid_component(e.name)) entries_.push_back({e.name, e.fileid, e.type});
      op->entries = entries_;
      op->result = entries_.size();
      break;
    default:
      break;
  }
  files_.infer(op);
}

void Nfs3Requests::add(const PendingCall& call, int64_t end, XdrDecoder& in) {
  if (call.procedure >= nfs::kProcs) return sink_.note(ImportNotes::lost, "damaged RPC messages", 1);
  const Proc proc = Proc(call.procedure);
  if (proc == Proc::null) return sink_.note(ImportNotes::ignored, "NULL calls", 1);
  Op op{.start = call.start, .duration = std::max<int64_t>(end - call.start, 0), .kind = kKinds[call.procedure]};
  op.uid = call.uid;
  op.gid = call.gid;
  XdrDecoder asked(span_of(call.arguments));
  if (!arguments(proc, asked, &op) || !nfs::decode_results(proc, in, &reply_))
    return sink_.note(ImportNotes::lost, "damaged NFS calls or replies", 1);
  outcome(proc, &op);
  files_.add(call.client, op, reply_.eof);
}

}  // namespace fsr::capture
