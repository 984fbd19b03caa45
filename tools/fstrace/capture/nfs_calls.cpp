// SPDX-License-Identifier: Apache-2.0
#include "nfs_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "targets/nfs/access.hpp"

namespace fsr::capture {

using nfs::Proc;
using nfs::XdrDecoder;

namespace {

constexpr uint32_t kCall = 0, kReply = 1, kRpcVersion = 2, kMountProgram = 100005, kMountProcedure = 1, kAuthSys = 1;
constexpr size_t kLongestAuth = 400, kLongestName = 4096, kMostPending = 65536;

std::span<const uint8_t> span_of(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

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

uint32_t access_mode(uint32_t bits) {
  return (bits & nfs::kAccessRead ? R_OK : 0) |
         (bits & (nfs::kAccessModify | nfs::kAccessExtend | nfs::kAccessDelete) ? W_OK : 0) |
         (bits & (nfs::kAccessLookup | nfs::kAccessExecute) ? X_OK : 0);
}

constexpr OpKind kKinds[nfs::kProcs] = {OpKind::null,     OpKind::getattr, OpKind::setattr,     OpKind::lookup, OpKind::access,
                                        OpKind::readlink, OpKind::read,    OpKind::write,       OpKind::create, OpKind::mkdir,
                                        OpKind::symlink,  OpKind::mknod,   OpKind::unlink,      OpKind::rmdir,  OpKind::rename,
                                        OpKind::link,     OpKind::readdir, OpKind::readdirplus, OpKind::statfs, OpKind::statfs,
                                        OpKind::statfs,   OpKind::fsync};

}  // namespace

bool NfsCalls::plausible(const FlowKey& flow, std::string_view bytes) const {
  XdrDecoder in(span_of(bytes));
  const uint32_t xid = in.u32(), type = in.u32();
  if (type == kCall) {
    const uint32_t version = in.u32(), program = in.u32();
    return in.ok() && version == kRpcVersion && (program == nfs::kNfsProgram || program == kMountProgram);
  }
  return in.ok() && type == kReply && pending_.contains({flow.reverse(), xid});
}

void NfsCalls::message(const FlowKey& flow, int64_t begin, int64_t end, std::string_view bytes) {
  XdrDecoder in(span_of(bytes));
  in.u32();
  const uint32_t type = in.u32();
  if (!in.ok() || type > kReply) return sink_.note(ImportNotes::lost, "RPC messages that are damaged", 1);
  if (type == kCall)
    call(flow, begin, bytes);
  else
    reply(flow, end, bytes);
  sink_.passed(std::min(starts_.empty() ? INT64_MAX : starts_.begin()->first, begin));
}

void NfsCalls::call(const FlowKey& flow, int64_t time, std::string_view bytes) {
  XdrDecoder in(span_of(bytes));
  const uint32_t xid = in.u32();
  in.u32();
  Call c{.start = time};
  const uint32_t rpc = in.u32();
  c.program = in.u32();
  const uint32_t version = in.u32();
  c.procedure = in.u32();
  const uint32_t flavour = in.u32();
  const std::string_view credential = in.opaque(kLongestAuth);
  in.u32();
  in.opaque(kLongestAuth);
  if (!in.ok() || rpc != kRpcVersion) return sink_.note(ImportNotes::lost, "RPC messages that are damaged", 1);
  const bool mount = c.program == kMountProgram && version == 3 && c.procedure == kMountProcedure;
  if (c.program == nfs::kNfsProgram && version != nfs::kNfs3)
    return sink_.note(ImportNotes::lost, version == 4 ? "calls of NFS version 4" : "calls of NFS version 2", 1);
  if (c.program != nfs::kNfsProgram && !mount) return sink_.note(ImportNotes::ignored, "RPC calls of other programs", 1);
  if (c.program == nfs::kNfsProgram && c.procedure >= nfs::kProcs)
    return sink_.note(ImportNotes::lost, "RPC messages that are damaged", 1);
  if (flavour == kAuthSys) {
    XdrDecoder who(span_of(credential));
    who.u32();
    who.opaque(255);
    c.uid = who.u32();
    c.gid = who.u32();
  }
  c.arguments = bytes.substr(bytes.size() - in.left());
  const Key key{flow, xid};
  if (pending_.contains(key)) return sink_.note(ImportNotes::changed, "calls sent again: the first counts", 1);
  if (pending_.size() >= kMostPending) {
    starts_.erase(starts_.find(pending_.begin()->second.start));
    pending_.erase(pending_.begin());
    sink_.note(ImportNotes::lost, "calls whose reply was not seen", 1);
  }
  starts_.emplace(c.start, 0);
  pending_.emplace(key, std::move(c));
}

void NfsCalls::reply(const FlowKey& flow, int64_t time, std::string_view bytes) {
  XdrDecoder in(span_of(bytes));
  const uint32_t xid = XdrDecoder(span_of(bytes)).u32();
  auto it = pending_.find({flow.reverse(), xid});
  if (it == pending_.end())
    return sink_.note(ImportNotes::ignored, "replies to calls that were not seen or are of other programs", 1);
  const Call call = std::move(it->second);
  starts_.erase(starts_.find(call.start));
  pending_.erase(it);
  const nfs::RpcStatus status = nfs::decode_reply_head(in);
  if (status != nfs::RpcStatus::success) return sink_.note(ImportNotes::lost, "calls that RPC refused", 1);
  if (call.program == kMountProgram)
    mounted(call, in);
  else
    operation(flow.reverse(), call, time, in);
}

// What was mounted is the root, if nothing was before.
void NfsCalls::mounted(const Call&, XdrDecoder& in) {
  nfs::FileHandle handle;
  if (in.u32() != 0 || !nfs::decode_handle(in, &handle)) return;
  objects_.try_emplace(std::string(handle.view()), kRootObject);
  sink_.note(ImportNotes::ignored, "mounts", 1);
}

ObjectId NfsCalls::object(std::string_view handle) {
  if (handle.empty()) return kNoObject;
  auto [it, news] = objects_.try_emplace(std::string(handle), next_object_);
  next_object_ += news;
  return it->second;
}

ObjectId NfsCalls::read_object(XdrDecoder& in) {
  nfs::FileHandle handle;
  return nfs::decode_handle(in, &handle) ? object(handle.view()) : kNoObject;
}

bool NfsCalls::arguments(Proc proc, XdrDecoder& in, Op* op) {
  const bool named = proc == Proc::lookup || (proc >= Proc::create && proc <= Proc::rename);
  (named ? op->parent : op->object) = read_object(in);
  if (named) op->name = in.opaque(kLongestName);
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
      op->parent2 = read_object(in);
      op->name2 = in.opaque(kLongestName);
      break;
    case Proc::link:
      op->parent2 = read_object(in);
      op->name2 = in.opaque(kLongestName);
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

void NfsCalls::outcome(Proc proc, const nfs::Reply& reply, Op* op) {
  op->error = nfs::status_errno(reply.status);
  auto known = [&](ObjectId parent, std::string_view name) {
    auto it = names_.find({parent, std::string(name)});
    return it == names_.end() ? kNoObject : it->second;
  };
  if (op->error) return;
  attr_ = reply.attr;
  if (attr_.valid) op->attr = &attr_;
  switch (proc) {
    case Proc::lookup:
    case Proc::create:
    case Proc::mkdir:
    case Proc::symlink:
    case Proc::mknod:
      op->object = object(reply.handle.view());
      if (proc != Proc::create) break;
      // UNCHECKED also succeeds on a file that is there.
      if (!(op->open_flags & O_EXCL) && !known(op->parent, op->name)) op->op_flags |= kOpInferred | kOpCreated;
      if (op->open_flags & O_EXCL) op->op_flags |= kOpCreated;
      break;
    case Proc::remove:
    case Proc::rmdir:
      op->object = known(op->parent, op->name);
      break;
    case Proc::rename:
      op->object = known(op->parent, op->name);
      op->object2 = known(op->parent2, op->name2);
      break;
    case Proc::readlink:
      op->data = reply.data;
      break;
    case Proc::read:
    case Proc::write:
      op->result = reply.count;
      break;
    case Proc::readdir:
    case Proc::readdirplus:
      entries_.clear();
      for (const nfs::Entry& e : reply.entries)
        if (valid_component(e.name)) entries_.push_back({e.name, e.fileid, e.type});
      op->entries = entries_;
      op->result = entries_.size();
      break;
    default:
      break;
  }
}

void NfsCalls::learn(const Op& op) {
  if (op.error) return;
  const std::pair<ObjectId, std::string> name{op.parent, std::string(op.name)}, name2{op.parent2, std::string(op.name2)};
  switch (op.kind) {
    case OpKind::lookup:
    case OpKind::create:
    case OpKind::mkdir:
    case OpKind::symlink:
    case OpKind::mknod:
      if (op.object) names_[name] = op.object;
      return;
    case OpKind::unlink:
    case OpKind::rmdir:
      names_.erase(name);
      return;
    case OpKind::link:
      names_[name2] = op.object;
      return;
    case OpKind::rename:
      names_.erase(name);
      if (op.object) names_[name2] = op.object;
      return;
    default:
      return;
  }
}

void NfsCalls::operation(const FlowKey& client, const Call& call, int64_t end, XdrDecoder& in) {
  const Proc proc = Proc(call.procedure);
  if (proc == Proc::null) return sink_.note(ImportNotes::ignored, "NULL calls", 1);
  Op op{.start = call.start, .duration = std::max<int64_t>(end - call.start, 0), .kind = kKinds[call.procedure]};
  op.uid = call.uid;
  op.gid = call.gid;
  XdrDecoder asked(span_of(call.arguments));
  if (!arguments(proc, asked, &op) || !nfs::decode_results(proc, in, &reply_))
    return sink_.note(ImportNotes::lost, "NFS calls or replies that are damaged", 1);
  outcome(proc, reply_, &op);
  for (std::string_view name : {op.name, op.name2})
    if (!name.empty() && !valid_component(name)) {
      // "." and ".." are files that are known already.
      return sink_.note(name == "." || name == ".." ? ImportNotes::ignored : ImportNotes::lost, "names that are none", 1);
    }
  if ((op.parent && op.name.empty()) || (op.parent2 && op.name2.empty()))
    return sink_.note(ImportNotes::lost, "names that are none", 1);
  const int32_t number = clients_.try_emplace(client, int32_t(clients_.size() + 1)).first->second;
  lanes_.assign(op, number, "nfs");
  if (proc == Proc::readdir || proc == Proc::readdirplus) return add_listing(op, number);
  sink_.add(op);
  learn(op);
}

// NFS lists directories without opening them; other file systems don't. A listing goes from cookie 0 to the end of the directory.
void NfsCalls::add_listing(Op op, int32_t client) {
  HandleId& handle = listings_[{client, op.object}];
  Op like{.start = op.start, .kind = OpKind::opendir, .op_flags = kOpInferred, .thread = op.thread, .object = op.object};
  like.who = op.who;
  if (!op.error && op.offset == 0) end_listing(&handle, like);
  if (!op.error && !handle) {
    like.handle = handle = next_handle_++;
    like.open_flags = O_DIRECTORY;
    sink_.add(like);
  }
  op.handle = handle;
  sink_.add(op);
  like.start = op.end();
  if (op.error || reply_.eof) end_listing(&handle, like);
  if (!handle) listings_.erase({client, op.object});
}

void NfsCalls::end_listing(HandleId* handle, Op like) {
  if (!*handle) return;
  like.kind = OpKind::releasedir;
  like.open_flags = 0;
  like.handle = std::exchange(*handle, 0);
  sink_.add(like);
}

void NfsCalls::finish() {
  if (!pending_.empty()) sink_.note(ImportNotes::lost, "calls whose reply was not seen", pending_.size());
}

}  // namespace fsr::capture
