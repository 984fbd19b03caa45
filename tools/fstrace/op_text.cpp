// SPDX-License-Identifier: Apache-2.0
#include "op_text.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <cstring>
#include <iterator>

#include "json_out.hpp"
#include "trace/open_flags.hpp"

namespace fsr::fstrace {

constexpr size_t kShownData = 64;  // bytes of content in text

std::string error_name(int error) {
  const char* name = strerrorname_np(error);
  return name ? name : fmt::format("E{}", error);
}

static bool has_range(OpKind kind) {
  switch (kind) {
    case OpKind::read:
    case OpKind::write:
    case OpKind::copy_file_range:
    case OpKind::fallocate:
    case OpKind::lseek:
    case OpKind::readdir:
    case OpKind::readdirplus:
    case OpKind::getlk:
    case OpKind::setlk:
      return true;
    default:
      return false;
  }
}

static std::string shown(std::string_view data) {
  return "\"" + escape_text(data.substr(0, kShownData)) + (data.size() > kShownData ? "\"…" : "\"");
}

void op_text(fmt::memory_buffer& out, const Op& op, const Paths& paths) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{}{}.{:09} {:>9} ", op.start < 0 ? "-" : "", std::abs(op.start / 1'000'000'000),
                 std::abs(op.start % 1'000'000'000), format_duration(op.duration));
  if (op.who)
    fmt::format_to(to, "{}/{}", op.who->tid, escape_text(op.who->command));
  else
    fmt::format_to(to, "thread{}", op.thread);
  fmt::format_to(to, " {}", op_name(op.kind));
  const bool named = has_path_name(op.kind);
  if (named)
    fmt::format_to(to, " {}", escape_text(paths.path(op.parent, op.name)));
  else if (op.kind == OpKind::tmpfile)
    fmt::format_to(to, " {}", escape_text(paths.path(op.parent)));
  else if (op.object)
    fmt::format_to(to, " {}", escape_text(paths.path(op.object)));
  if (!named && !op.name.empty()) fmt::format_to(to, " {}", shown(op.name));
  if (!op.name2.empty()) fmt::format_to(to, " -> {}", escape_text(paths.path(op.parent2, op.name2)));
  if (op.object2 && op.kind == OpKind::copy_file_range) fmt::format_to(to, " -> {}", escape_text(paths.path(op.object2)));
  if (op.object) fmt::format_to(to, " #{}", op.object);
  if (op.handle) fmt::format_to(to, " h{}", op.handle);
  if (op.handle2) fmt::format_to(to, " h{} offset2 {}", op.handle2, op.offset2);
  if (has_range(op.kind)) fmt::format_to(to, " offset {}", op.offset);
  if (op.length) fmt::format_to(to, " length {}", op.length);
  if (op.mode) fmt::format_to(to, " mode {:#o}", op.mode);
  if (op.open_flags) fmt::format_to(to, " open {:#o}", trace_open_flags(op.open_flags));
  if (op.flags) fmt::format_to(to, " flags {:#x}", op.flags);
  if (op.owner) fmt::format_to(to, " owner {:x}", op.owner);
  if (op.set) {
    const Attr& a = *op.set;
    if (a.valid & kAttrMode) fmt::format_to(to, " set-mode {:#o}", a.mode & 07777);
    if (a.valid & kAttrUid) fmt::format_to(to, " set-uid {}", a.uid);
    if (a.valid & kAttrGid) fmt::format_to(to, " set-gid {}", a.gid);
    if (a.valid & kAttrSize) fmt::format_to(to, " set-size {}", a.size);
    if (a.valid & (kAttrAtime | kAttrAtimeNow)) fmt::format_to(to, " set-atime");
    if (a.valid & (kAttrMtime | kAttrMtimeNow)) fmt::format_to(to, " set-mtime");
  }
  if (op.has(kOpAppend)) fmt::format_to(to, " append");
  if (op.has(kOpKernel)) fmt::format_to(to, " kernel");
  if (op.has(kOpWait)) fmt::format_to(to, " wait");
  if (op.has(kOpInferred)) fmt::format_to(to, " inferred");
  fmt::format_to(to, " = ");
  if (op.has(kOpUnfinished))
    fmt::format_to(to, "unfinished");
  else if (op.error)
    fmt::format_to(to, "{}", error_name(op.error));
  else if (op.kind == OpKind::create)
    fmt::format_to(to, "{}", op.has(kOpCreated) ? "created" : "found");
  else
    fmt::format_to(to, "{}", op.result);
  if (!op.data.empty()) fmt::format_to(to, " {}", shown(op.data));
  if (!op.blocks.empty()) fmt::format_to(to, " blocks");
  for (const BlockPrint& b : op.blocks)
    b.level ? fmt::format_to(to, " {:016x}/{}", b.hash, b.level) : fmt::format_to(to, " zero");
  for (const DirEntry& e : op.entries) fmt::format_to(to, " {}{}", escape_text(e.name), (e.type & S_IFMT) == S_IFDIR ? "/" : "");
  out.push_back('\n');
}

static void attr_json(JsonOut& json, const Attr& a) {
  json.open('{');
  if (a.valid & kAttrMode) json.member("mode", a.mode);
  if (a.valid & kAttrUid) json.member("uid", a.uid);
  if (a.valid & kAttrGid) json.member("gid", a.gid);
  if (a.valid & kAttrSize) json.member("size", a.size);
  if (a.valid & kAttrNlink) json.member("nlink", a.nlink);
  if (a.valid & kAttrAtime) json.member("atime", a.atime);
  if (a.valid & kAttrMtime) json.member("mtime", a.mtime);
  if (a.valid & kAttrCtime) json.member("ctime", a.ctime);
  if (a.valid & kAttrBlocks) json.member("blocks", a.blocks);
  if (a.valid & kAttrRdev) json.member("rdev", a.rdev);
  if (a.valid & kAttrBtime) json.member("btime", a.btime);
  if (a.valid & kAttrAtimeNow) json.member("atime_now", true);
  if (a.valid & kAttrMtimeNow) json.member("mtime_now", true);
  json.close('}');
}

void op_json(fmt::memory_buffer& out, const Op& op, const Paths& paths) {
  JsonOut json(out);
  json.open('{');
  json.member("seq", op.seq);
  json.member("start", op.start);
  json.member("duration", op.duration);
  json.member_text("kind", op_name(op.kind));
  json.member("thread", op.thread);
  if (op.who) {
    json.member("client", op.who->client);
    json.member("tid", op.who->tid);
    json.member("pid", op.who->pid);
    json.member("ppid", op.who->ppid);
    json.member_text("command", op.who->command);
  }
  json.member("uid", op.uid);
  json.member("gid", op.gid);
  auto number = [&](const char* name, uint64_t v) {
    if (v) json.member(name, v);
  };
  auto text = [&](const char* name, std::string_view v) {
    if (!v.empty()) json.member_text(name, v);
  };
  number("op_flags", op.op_flags);
  number("object", op.object);
  number("parent", op.parent);
  text("name", op.name);
  number("parent2", op.parent2);
  text("name2", op.name2);
  number("object2", op.object2);
  if (has_path_name(op.kind))
    text("path", paths.path(op.parent, op.name));
  else if (op.object)
    text("path", paths.path(op.object));
  number("handle", op.handle);
  number("handle2", op.handle2);
  if (has_range(op.kind)) json.member("offset", op.offset);
  number("offset2", op.offset2);
  number("length", op.length);
  number("mode", op.mode);
  number("flags", op.flags);
  number("open_flags", trace_open_flags(op.open_flags));
  number("owner", op.owner);
  text("data", op.data);
  if (op.set) {
    json.key("set");
    attr_json(json, *op.set);
  }
  if (op.has(kOpUnfinished))
    json.member("unfinished", true);
  else if (op.error)
    json.member_text("error", error_name(op.error));
  else
    json.member("result", op.result);
  if (op.attr) {
    json.key("attr");
    attr_json(json, *op.attr);
  }
  if (!op.blocks.empty()) {
    json.key("blocks");
    json.open('[');
    for (const BlockPrint& b : op.blocks) {
      json.open('{');
      json.member("level", unsigned(b.level));
      if (b.level) json.member_text("hash", fmt::format("{:016x}", b.hash));
      json.close('}');
    }
    json.close(']');
  }
  if (!op.entries.empty()) {
    json.key("entries");
    json.open('[');
    for (const DirEntry& e : op.entries) {
      json.open('{');
      json.member_text("name", e.name);
      json.member("ino", e.ino);
      json.member("type", e.type);
      json.close('}');
    }
    json.close(']');
  }
  json.close('}');
  out.push_back('\n');
}

}  // namespace fsr::fstrace
