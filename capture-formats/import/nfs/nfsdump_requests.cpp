// SPDX-License-Identifier: Apache-2.0
#include "nfsdump_requests.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "import/import_text.hpp"
#include "nfs/access.hpp"
#include "nfs/nfs3.hpp"
#include "trace/paths.hpp"

namespace fsr::capture {

namespace {

struct Procedure {
  std::string_view name;
  OpKind kind;
};
constexpr Procedure kProcedures[] = {
    {"getattr", OpKind::getattr}, {"setattr", OpKind::setattr},   {"lookup", OpKind::lookup},
    {"access", OpKind::access},   {"readlink", OpKind::readlink}, {"read", OpKind::read},
    {"write", OpKind::write},     {"create", OpKind::create},     {"mkdir", OpKind::mkdir},
    {"symlink", OpKind::symlink}, {"mknod", OpKind::mknod},       {"remove", OpKind::unlink},
    {"rmdir", OpKind::rmdir},     {"rename", OpKind::rename},     {"link", OpKind::link},
    {"readdir", OpKind::readdir}, {"fsstat", OpKind::statfs},     {"readdirp", OpKind::readdirplus},
    {"fsinfo", OpKind::statfs},   {"pathconf", OpKind::statfs},   {"statfs", OpKind::statfs},
    {"commit", OpKind::fsync},
};

const Procedure* find_procedure(std::string_view name) {
  const auto it =
      std::find_if(std::begin(kProcedures), std::end(kProcedures), [&](const Procedure& p) { return p.name == name; });
  return it == std::end(kProcedures) ? nullptr : it;
}

// Before 2003-09-09 the halves of the size in SETATTR were exchanged (KNOWN BUGS in format.txt).
constexpr int64_t kSizesRight = 1'063'065'600'000'000'000;

// True: the attributes in the reply are those of the parent directory.
bool replies_for_directory(OpKind kind) { return kind == OpKind::unlink || kind == OpKind::rmdir || kind == OpKind::rename; }

}  // namespace

ObjectId NfsdumpRequests::object(const NfsdumpFields& fields, std::string_view name) {
  const NfsdumpFields::Field* f = fields.find(name);
  return f ? files_.object(f->value) : kNoObject;
}

// Version 3 calls it a name, version 2 fn.
bool NfsdumpRequests::name_arguments(Op* op) {
  const bool link = op->kind == OpKind::link;
  if (!asked_.text("name", &name_) && !asked_.text("fn", &name_)) return false;
  (link ? op->name2 : op->name) = name_;
  if (op->kind != OpKind::link && op->kind != OpKind::rename) return true;
  op->parent2 = object(asked_, "fh2");
  if (!op->parent2 || link) return op->parent2 != kNoObject;
  if (!asked_.text("name2", &name2_) && !asked_.text("fn2", &name2_)) return false;
  op->name2 = name2_;
  return true;
}

bool NfsdumpRequests::transfer_arguments(const PendingCall& call, Op* op) {
  const bool old_write = call.version == 2 && op->kind == OpKind::write;
  return asked_.number(call.version == 2 ? "offset" : "off", &op->offset) && op->offset <= INT64_MAX &&
         asked_.number(old_write ? "tcount" : "count", &op->length) && op->length <= UINT32_MAX;
}

// Older traces have one letter, which is right where one bit was asked for, and U for what else there was.
bool NfsdumpRequests::access_argument(Op* op) {
  constexpr std::string_view kLetters = "RLMEDX";
  uint32_t bits = 0;
  const NfsdumpFields::Field* f = asked_.find("acc");
  if (!f || f->value.empty()) return false;
  const size_t letter = f->value.size() == 1 ? kLetters.find(f->value[0]) : std::string_view::npos;
  if (f->value == "U")
    op->op_flags |= kOpInferred;
  else if (letter != std::string_view::npos && (f->value[0] > 'F' || f->value[0] < 'A'))
    bits = 1u << letter;
  else if (!asked_.number("acc", &bits))
    return false;
  op->mode = access_mode(bits);
  return true;
}

void NfsdumpRequests::set_argument(const PendingCall& call, Op* op) {
  set_ = {};
  if (asked_.number("mode", &set_.mode)) set_.valid |= kAttrMode;
  set_.mode &= 07777;
  if (asked_.number("uid", &set_.uid)) set_.valid |= kAttrUid;
  if (asked_.number("gid", &set_.gid)) set_.valid |= kAttrGid;
  if (asked_.number("size", &set_.size)) set_.valid |= kAttrSize;
  if (call.start < kSizesRight && set_.size > UINT32_MAX && (set_.size & UINT32_MAX) == 0) {
    set_.size >>= 32;
    op->op_flags |= kOpInferred;
  }
  auto time = [&](std::string_view name, uint32_t given, uint32_t now, int64_t* into) {
    const NfsdumpFields::Field* f = asked_.find(name);
    if (!f) return;
    if (f->value == "SERVER")
      set_.valid |= now;
    else if (parse_nfsdump_time(f->value, into))
      set_.valid |= given;
  };
  time("atime", kAttrAtime, kAttrAtimeNow, &set_.atime);
  time("mtime", kAttrMtime, kAttrMtimeNow, &set_.mtime);
}

bool NfsdumpRequests::arguments(const PendingCall& call, Op* op) {
  const bool named = has_path_name(op->kind);
  const ObjectId file = object(asked_, op->kind == OpKind::fsync ? "file" : "fh");
  if (!file) return false;
  (named ? op->parent : op->object) = file;
  if ((named || op->kind == OpKind::link) && !name_arguments(op)) return false;
  set_argument(call, op);
  switch (op->kind) {
    case OpKind::setattr:
      op->set = &set_;
      return true;
    case OpKind::access:
      return access_argument(op);
    case OpKind::read:
    case OpKind::write:
      return transfer_arguments(call, op);
    case OpKind::create: {
      const NfsdumpFields::Field* how = asked_.find("how");
      op->open_flags = O_CREAT | O_RDWR | (how && how->value != "U" ? O_EXCL : 0);
      if ((set_.valid & kAttrSize) && set_.size == 0) op->open_flags |= O_TRUNC;
      op->mode = S_IFREG | (set_.valid & kAttrMode ? set_.mode : 0644);
      return true;
    }
    case OpKind::mkdir:
      op->mode = set_.mode;
      return true;
    case OpKind::symlink:
      if (!asked_.text(call.version == 2 ? "fn2" : "sdata", &target_)) return false;
      op->data = target_;
      return true;
    case OpKind::readdir:
    case OpKind::readdirplus:
      return asked_.number("cookie", &op->offset) && asked_.number(op->kind == OpKind::readdir ? "count" : "maxcnt", &op->length);
    default:
      return true;
  }
}

// Reads the attributes of the procedure's file; those of a directory may follow.
bool NfsdumpRequests::attributes(Op* op) {
  constexpr uint32_t kTypes[] = {0, S_IFREG, S_IFDIR, S_IFBLK, S_IFCHR, S_IFLNK, S_IFSOCK, S_IFIFO};
  uint32_t type = 0, major_number = 0, minor_number = 0;
  attr_ = {};
  if (!answered_.number("ftype", &type) || type == 0 || replies_for_directory(op->kind)) return true;
  if (type >= std::size(kTypes) || !answered_.number("mode", &attr_.mode) || !answered_.number("size", &attr_.size)) return false;
  attr_.valid = kAttrMode | kAttrSize;
  attr_.mode = (attr_.mode & 07777) | kTypes[type];
  if (answered_.number("nlink", &attr_.nlink)) attr_.valid |= kAttrNlink;
  if (answered_.number("uid", &attr_.uid)) attr_.valid |= kAttrUid;
  if (answered_.number("gid", &attr_.gid)) attr_.valid |= kAttrGid;
  uint64_t used;
  if (answered_.number("blocks", &attr_.blocks)) {
    attr_.valid |= kAttrBlocks;
  } else if (answered_.number("used", &used)) {
    attr_.blocks = used / 512;
    attr_.valid |= kAttrBlocks;
  }
  if (answered_.number("rdev", &major_number) && answered_.number("rdev2", &minor_number)) {
    attr_.rdev = makedev(major_number, minor_number);
    attr_.valid |= kAttrRdev;
  }
  auto time = [&](std::string_view name, uint32_t field, int64_t* into) {
    const NfsdumpFields::Field* f = answered_.find(name);
    if (f && parse_nfsdump_time(f->value, into)) attr_.valid |= field;
  };
  time("atime", kAttrAtime, &attr_.atime);
  time("mtime", kAttrMtime, &attr_.mtime);
  time("ctime", kAttrCtime, &attr_.ctime);
  op->attr = &attr_;
  return true;
}

// fileid-0, name-0, cookie-0, fileid-1 ...; versions before 1.2.0 have none of it. True: that was the end.
bool NfsdumpRequests::listing(Op* op) {
  entries_.clear();
  names_.clear();
  uint32_t eof = 0;
  if (!answered_.number("eof", &eof)) {
    op->op_flags |= kOpInferred;
    return false;
  }
  uint64_t fileid = 0;
  for (const NfsdumpFields::Field& f : answered_.all()) {
    if (f.name.starts_with("fileid-")) parse_whole(f.value, &fileid, 16);
    if (!f.name.starts_with("name-")) continue;
    NfsdumpFields::unquote(f.value, &names_.emplace_back());
    if (valid_component(names_.back()))
      entries_.push_back({.ino = fileid});
    else
      names_.pop_back();
  }
  for (size_t i = 0; i < entries_.size(); ++i) entries_[i].name = names_[i];
  op->entries = entries_;
  op->result = entries_.size();
  return eof != 0;
}

bool NfsdumpRequests::outcome(const PendingCall& call, Op* op) {
  if (!attributes(op)) return false;
  const NfsdumpFields::Field* fh = answered_.find("fh");
  const std::string_view handle = fh ? fh->value : std::string_view();
  uint32_t granted = 0;
  uint64_t moved = 0;
  switch (op->kind) {
    case OpKind::lookup:
    case OpKind::create:
      op->object = files_.found(handle, op->parent, op->name);
      return true;
    case OpKind::mkdir:
    case OpKind::symlink:
    case OpKind::mknod:
      op->object = files_.made(handle);
      return true;
    case OpKind::access:
      if (answered_.number("acc", &granted) && !nfs::access_granted(op->mode, granted)) op->error = EACCES;
      return true;
    case OpKind::readlink:
      if (!answered_.text(call.version == 2 ? "fn" : "name", &target_)) return false;
      op->data = target_;
      return true;
    case OpKind::read:
    case OpKind::write:
      // Version 2 writes all of it.
      if (call.version == 2 && op->kind == OpKind::write)
        moved = op->length;
      else if (!answered_.number("count", &moved) || moved > op->length)
        return false;
      op->result = moved;
      return true;
    default:
      return true;
  }
}

void NfsdumpRequests::add(const PendingCall& call, int64_t end, std::string_view answer) {
  std::string_view rest(call.arguments);
  const std::string_view name = next_nfsdump_word(&rest), status = next_nfsdump_word(&answer);
  const Procedure* procedure = find_procedure(name);
  if (!procedure)
    return sink_.note(name == "null" || name == "mnt" ? ImportNotes::ignored : ImportNotes::lost,
                      "calls of procedures that are no file operations", 1);
  uint32_t failed = 0;
  if (status != "OK" && !parse_whole(status, &failed, 16))
    return sink_.note(ImportNotes::lost, status == "SHORT" ? kCut : kNotUnderstood, 1);
  asked_.parse(rest);
  answered_.parse(answer);
  if (asked_.cut() || (answered_.cut() && !failed)) return sink_.note(ImportNotes::lost, kCut, 1);
  Op op{.start = call.start, .duration = std::max<int64_t>(end - call.start, 0), .kind = procedure->kind};
  op.uid = call.uid;
  op.gid = call.gid;
  if (name == "fsinfo") op.flags = kStatfsInfo;
  if (name == "pathconf") op.flags = kStatfsNames;
  if (!arguments(call, &op)) return sink_.note(ImportNotes::lost, kNotUnderstood, 1);
  op.error = nfs::status_errno(failed);
  if (!failed && !outcome(call, &op)) return sink_.note(ImportNotes::lost, kNotUnderstood, 1);
  const bool listed = !op.error && (op.kind == OpKind::readdir || op.kind == OpKind::readdirplus);
  const bool listing_ends = listed && listing(&op);
  if (!op.error) files_.infer(&op);
  files_.add(call.client, op, listing_ends);
}

}  // namespace fsr::capture
