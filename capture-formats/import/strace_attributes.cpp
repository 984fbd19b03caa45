// SPDX-License-Identifier: Apache-2.0
// Calls on attributes of files.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "import_text.hpp"
#include "strace_import.hpp"

namespace fsr::strace {

using Notes = ImportNotes;

static bool follows(const Call& call, uint64_t flags) {
  // lstat, lchown, lgetxattr and the like.
  const bool named = (call.name.starts_with('l') && call.name != "listxattr") ||
                     call.name.find("_lstat") != std::string_view::npos || call.name == "oldlstat";
  return !named && !(flags & AT_SYMLINK_NOFOLLOW);
}

void Calls::stat(const CallSpec& spec) {
  const NodeId id = file_at(spec, follows(call_, parse_flags(arg(spec.at.b))));
  if (!id) return;
  Op op = begin(spec.kind);
  Attr attr;
  if (!call_.error) parse_stat(arg(spec.at.a), &attr);
  if (attr.valid) {
    learn(id, attr);
    op.attr = &attr;
  }
  add(op, id);
}

void Calls::check_access(const CallSpec& spec) {
  const NodeId id = file_at(spec, follows(call_, parse_flags(arg(spec.at.b))));
  if (!id) return;
  Op op = begin(OpKind::access);
  op.mode = uint32_t(parse_flags(arg(spec.at.a)));
  add(op, id);
}

void Calls::set(const CallSpec& spec, const Attr& attr, bool follow) {
  const NodeId id = file_at(spec, follow);
  if (!id) return;
  Op op = begin(OpKind::setattr);
  if (spec.at.fd >= 0) {
    const auto open = opened(spec.at.fd);
    if (open) op.handle = open->handle;
  }
  op.set = &attr;
  if (!call_.error && attr.valid & kAttrSize) {
    tree_.node(id).size = attr.size;
    tree_.node(id).size_known = true;
  }
  add(op, id);
}

void Calls::set_mode(const CallSpec& spec) {
  const Attr attr{.valid = kAttrMode, .mode = uint32_t(parse_flags(arg(spec.at.a))) & 07777};
  set(spec, attr, follows(call_, parse_flags(arg(spec.at.b))));
}

void Calls::set_owner(const CallSpec& spec) {
  Attr attr{.uid = uint32_t(number(spec.at.a)), .gid = uint32_t(number(spec.at.b))};
  // -1 leaves it as it is.
  if (attr.uid != UINT32_MAX) attr.valid |= kAttrUid;
  if (attr.gid != UINT32_MAX) attr.valid |= kAttrGid;
  set(spec, attr, follows(call_, parse_flags(arg(spec.at.c))));
}

void Calls::set_size(const CallSpec& spec) { set(spec, {.valid = kAttrSize, .size = uint64_t(number(spec.at.a))}, true); }

// Into ns: {tv_sec=1, tv_nsec=2}, {tv_sec=1, tv_usec=2}. False: UTIME_OMIT; now: UTIME_NOW.
static bool parse_time(std::string_view text, int64_t* ns, bool* now) {
  int64_t seconds = 0, fraction = 0;
  const std::string_view nsec = text == "UTIME_OMIT" || text == "UTIME_NOW" ? text : field(text, "tv_nsec");
  *now = nsec.starts_with("UTIME_NOW");
  if (nsec.starts_with("UTIME_OMIT")) return false;
  if (*now) return true;
  parse_number(field(text, "tv_sec"), &seconds);
  if (!parse_number(nsec, &fraction) && parse_number(field(text, "tv_usec"), &fraction)) fraction *= 1000;
  constexpr int64_t kMost = INT64_MAX / 1'000'000'000 - 1;
  *ns = std::clamp(seconds, -kMost, kMost) * 1'000'000'000 + std::clamp<int64_t>(fraction, 0, 999'999'999);
  return true;
}

void Calls::set_times(const CallSpec& spec) {
  Attr attr;
  const std::string_view times = arg(spec.at.a);
  const auto both = list(times);
  int64_t seconds;
  if (times == "NULL") {
    attr.valid = kAttrAtimeNow | kAttrMtimeNow;
  } else if (times.starts_with('{')) {  // utime
    if (parse_number(field(times, "actime"), &seconds)) attr.atime = std::clamp<int64_t>(seconds, 0, 1LL << 33) * 1'000'000'000;
    if (parse_number(field(times, "modtime"), &seconds)) attr.mtime = std::clamp<int64_t>(seconds, 0, 1LL << 33) * 1'000'000'000;
    attr.valid = kAttrAtime | kAttrMtime;
  } else if (both.size() == 2) {
    bool now;
    if (parse_time(both[0], &attr.atime, &now)) attr.valid |= now ? kAttrAtimeNow : kAttrAtime;
    if (parse_time(both[1], &attr.mtime, &now)) attr.valid |= now ? kAttrMtimeNow : kAttrMtime;
  } else {
    return note(Notes::lost, kNotUnderstood);
  }
  set(spec, attr, follows(call_, parse_flags(arg(spec.at.b))));
}

void Calls::file_system(const CallSpec& spec) {
  const NodeId id = file_at(spec, true);
  if (id) add(begin(spec.kind), id);
}

void Calls::attribute(const CallSpec& spec) {
  const NodeId id = file_at(spec, follows(call_, 0));
  if (!id) return;
  Op op = begin(spec.kind);
  std::string name, value;
  bool cut = true;
  if (spec.at.a >= 0 && (!parse_string(arg(spec.at.a), &name) || name.empty()))
    return note(Notes::lost, "paths that the log does not show completely");
  op.name = name;
  op.length = uint64_t(number(spec.at.c));
  if (spec.kind == OpKind::setxattr) op.flags = uint32_t(parse_flags(arg(4)));
  if (!call_.error && spec.kind != OpKind::setxattr) op.result = uint64_t(call_.result);
  if (spec.at.b >= 0 && !call_.error && op.length > 0 && parse_string(arg(spec.at.b), &value, &cut) && !cut) {
    op.data = value;
    op.op_flags |= kOpData;
  } else if (spec.kind == OpKind::setxattr && !call_.error) {
    note(Notes::changed, "values of extended attributes that strace truncated (use a larger -s)");
  }
  add(op, id);
}

}  // namespace fsr::strace
