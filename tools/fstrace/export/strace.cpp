// SPDX-License-Identifier: Apache-2.0
// The system calls that would have made the operations, as `strace -f -y -ttt -T` prints them. Descriptors are the numbers of
// open instances; what is a flush or a lookup in the trace is part of close and of the paths here.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "../op_text.hpp"
#include "clone.hpp"
#include "format.hpp"
#include "trace/open_flags.hpp"

namespace fsr::fstrace {

namespace {

// Instances of a stateless protocol have no number: far from those that have.
constexpr uint64_t kStateless = 1'000'000'000;

std::string escaped(std::string_view bytes, std::string_view special) {
  std::string out;
  for (char c : bytes)
    if (uint8_t(c) < 0x20 || uint8_t(c) >= 0x7f || special.find(c) != std::string_view::npos)
      out += fmt::format("\\{:03o}", uint8_t(c));
    else
      out.push_back(c);
  return out;
}
std::string in_quotes(std::string_view bytes) { return "\"" + escaped(bytes, "\"\\") + "\""; }

std::string file_type(uint32_t mode) {
  constexpr std::pair<uint32_t, const char*> kTypes[] = {{S_IFREG, "S_IFREG"},  {S_IFDIR, "S_IFDIR"}, {S_IFLNK, "S_IFLNK"},
                                                         {S_IFCHR, "S_IFCHR"},  {S_IFBLK, "S_IFBLK"}, {S_IFIFO, "S_IFIFO"},
                                                         {S_IFSOCK, "S_IFSOCK"}};
  for (auto [type, name] : kTypes)
    if ((mode & S_IFMT) == type) return fmt::format("{}|{:#o}", name, mode & 07777);
  return fmt::format("{:#o}", mode);
}

std::string time_text(const Attr& set, uint32_t given, uint32_t now, int64_t time) {
  if (set.valid & now) return "UTIME_NOW";
  if (!(set.valid & given)) return "UTIME_OMIT";
  const int64_t nsec = (time % 1'000'000'000 + 1'000'000'000) % 1'000'000'000;
  return fmt::format("{{tv_sec={}, tv_nsec={}}}", (time - nsec) / 1'000'000'000, nsec);
}

// getdents counts "." and "..", which begin most listings; a capture may have them among the entries or not.
uint64_t listed(const Op& op) {
  const auto dot = [](const DirEntry& e) { return e.name == "." || e.name == ".."; };
  return op.result + (op.offset == 0 && std::none_of(op.entries.begin(), op.entries.end(), dot) ? 2 : 0);
}

class Calls final : public ExportFormat {
 public:
  explicit Calls(const TraceHeader& header) : epoch_(header.epoch), top_(header.directory == "/" ? "" : header.directory) {}

  Exported add(fmt::memory_buffer& out, const Op& op, const Paths& paths) override {
    if (op.kind == OpKind::setattr) return set(out, op, paths);
    if (op.kind == OpKind::flush || (op.kind == OpKind::lookup && !op.error)) return Exported::unneeded;
    const std::string text = call(op, paths);
    if (text.empty()) return Exported::no;
    print(out, op, text);
    return Exported::whole;
  }

 private:
  std::string absolute(const std::string& path) const { return path == "." ? (top_.empty() ? "/" : top_) : top_ + "/" + path; }
  std::string at(const std::string& path) const { return "AT_FDCWD, " + in_quotes(absolute(path)); }
  std::string fd(HandleId handle, ObjectId object, const Paths& paths) const {
    return fmt::format("{}<{}>", handle ? handle : kStateless + object, escaped(absolute(paths.path(object)), "\\<>"));
  }

  void print(fmt::memory_buffer& out, const Op& op, const std::string& text) const {
    const int64_t time = epoch_ + op.start;
    fmt::format_to(std::back_inserter(out), "{} {}.{:06} {}",
                   op.who ? number_among_clients(*op.who, op.who->tid) : int64_t(op.thread), time / 1'000'000'000,
                   time % 1'000'000'000 / 1000, text);
    auto to = std::back_inserter(out);
    if (op.has(kOpUnfinished)) {
      fmt::format_to(to, " <unfinished ...>\n");
      return;
    }
    if (op.error)
      fmt::format_to(to, ") = -1 {} ({})", error_name(op.error),
                     strerrordesc_np(op.error) ? strerrordesc_np(op.error) : "unknown");
    else
      fmt::format_to(to, ") = {}", result_of(op));
    fmt::format_to(to, " <{}.{:06}>\n", op.duration / 1'000'000'000, op.duration % 1'000'000'000 / 1000);
  }

  static uint64_t result_of(const Op& op) {
    switch (op.kind) {
      case OpKind::open:
      case OpKind::opendir:
      case OpKind::create:
        return op.handle;
      case OpKind::readlink:
        return op.data.size();
      default:
        return op.result;
    }
  }

  static std::string attributes(const Attr* a) {
    if (!a || !(a->valid & kAttrMode)) return "{...}";
    return fmt::format("{{st_mode={}, st_size={}, ...}}", file_type(a->mode), a->size);
  }

  // Up to the bracket that ends the arguments; empty: no system call is like that.
  std::string call(const Op& op, const Paths& paths) const {
    const std::string path = at(paths.of(op));
    const std::string open = op.object ? fd(op.handle, op.object, paths) : "";
    switch (op.kind) {
      case OpKind::lookup:
        return fmt::format("newfstatat({}, 0x0, AT_SYMLINK_NOFOLLOW", path);
      case OpKind::getattr:
      case OpKind::statx:
        return fmt::format("newfstatat({}, {}, AT_SYMLINK_NOFOLLOW", path, attributes(op.attr));
      case OpKind::access:
        return fmt::format("faccessat({}, {:#x}", path, op.mode);
      case OpKind::readlink:
        return fmt::format("readlinkat({}, {}, 4096", path, in_quotes(op.data));
      case OpKind::open:
        return fmt::format("openat({}, {:#x}", path, trace_open_flags(op.open_flags));
      case OpKind::opendir:
        return fmt::format("openat({}, {:#x}|O_DIRECTORY", path, trace_open_flags(op.open_flags));
      case OpKind::create:
        if (!op.handle && !op.error) return fmt::format("mknodat({}, S_IFREG|{:#o}", path, op.mode & 07777);
        return fmt::format("openat({}, {:#x}|O_CREAT, {:#o}", path, trace_open_flags(op.open_flags), op.mode & 07777);
      case OpKind::read:
        return fmt::format("pread64({}, \"\"..., {}, {}", open, op.length, op.offset);
      case OpKind::write:
        return fmt::format("pwrite64({}, \"\"..., {}, {}", open, op.length, op.offset);
      case OpKind::copy_file_range:
        if (is_clone(op))
          return fmt::format("ioctl({}, FICLONERANGE, {{src_fd={}, src_offset={}, src_length={}, dest_offset={}}}",
                             fd(op.handle2, op.object2, paths), open, op.offset, op.length, op.offset2);
        return fmt::format("copy_file_range({}, [{}], {}, [{}], {}, 0", open, op.offset, fd(op.handle2, op.object2, paths),
                           op.offset2, op.length);
      case OpKind::fallocate:
        return fmt::format("fallocate({}, {:#x}, {}, {}", open, op.mode, op.offset, op.length);
      case OpKind::lseek:
        return fmt::format("lseek({}, {}, {}", open, op.offset, op.mode == SEEK_HOLE ? "SEEK_HOLE" : "SEEK_DATA");
      case OpKind::fsync:
      case OpKind::fsyncdir:
        return fmt::format("{}({}", op.flags & 1 ? "fdatasync" : "fsync", open);
      case OpKind::release:
      case OpKind::releasedir:
        return fmt::format("close({}", open);
      case OpKind::readdir:
      case OpKind::readdirplus:
        return fmt::format("getdents64({}, 0x0 /* {} entries */, {}", open, listed(op), op.length);
      case OpKind::mkdir:
        return fmt::format("mkdirat({}, {:#o}", path, op.mode & 07777);
      case OpKind::mknod:
        return fmt::format("mknodat({}, {}", path, file_type(op.mode));
      case OpKind::symlink:
        return fmt::format("symlinkat({}, {}", in_quotes(op.data), path);
      case OpKind::link:
        return fmt::format("linkat({}, {}, 0", path, at(paths.path(op.parent2, op.name2)));
      case OpKind::unlink:
        return fmt::format("unlinkat({}, 0", path);
      case OpKind::rmdir:
        return fmt::format("unlinkat({}, AT_REMOVEDIR", path);
      case OpKind::rename:
        return fmt::format("renameat2({}, {}, {:#x}", path, at(paths.path(op.parent2, op.name2)), op.flags);
      case OpKind::statfs:
        return fmt::format("statfs({}, 0x0", in_quotes(absolute(op.object ? paths.path(op.object) : ".")));
      case OpKind::getxattr:
      case OpKind::setxattr:
        return fmt::format("l{}({}, {}, {}, {}{}", op_name(op.kind), in_quotes(absolute(paths.of(op))), in_quotes(op.name),
                           op.has(kOpData) ? in_quotes(op.data) : "0x0", op.length,
                           op.kind == OpKind::setxattr ? fmt::format(", {:#x}", op.flags) : "");
      case OpKind::listxattr:
        return fmt::format("llistxattr({}, 0x0, {}", in_quotes(absolute(paths.of(op))), op.length);
      case OpKind::removexattr:
        return fmt::format("lremovexattr({}, {}", in_quotes(absolute(paths.of(op))), in_quotes(op.name));
      case OpKind::getlk:
      case OpKind::setlk:
        return fmt::format("fcntl({}, {}, {{l_type={}, l_whence=SEEK_SET, l_start={}, l_len={}}}", open,
                           op.kind == OpKind::getlk ? "F_GETLK"
                           : op.has(kOpWait)        ? "F_SETLKW"
                                                    : "F_SETLK",
                           op.mode, op.offset, op.length);
      case OpKind::flock:
        return fmt::format("flock({}, {:#x}", open, op.mode | (op.has(kOpWait) ? 0u : 4u /* LOCK_NB */));
      default:
        return {};
    }
  }

  // One request may change what takes several calls.
  Exported set(fmt::memory_buffer& out, const Op& op, const Paths& paths) const {
    if (!op.set) return Exported::no;
    const Attr& a = *op.set;
    const std::string path = at(paths.of(op));
    unsigned calls = 0;
    auto one = [&](const std::string& text) {
      print(out, op, text);
      ++calls;
    };
    if (a.valid & kAttrMode) one(fmt::format("fchmodat({}, {:#o}", path, a.mode & 07777));
    if (a.valid & (kAttrUid | kAttrGid))
      one(fmt::format("fchownat({}, {}, {}, AT_SYMLINK_NOFOLLOW", path, a.valid & kAttrUid ? int64_t(a.uid) : -1,
                      a.valid & kAttrGid ? int64_t(a.gid) : -1));
    if (a.valid & kAttrSize) one(fmt::format("truncate({}, {}", in_quotes(absolute(paths.of(op))), a.size));
    if (a.valid & (kAttrAtime | kAttrMtime | kAttrAtimeNow | kAttrMtimeNow))
      one(fmt::format("utimensat({}, [{}, {}], AT_SYMLINK_NOFOLLOW", path, time_text(a, kAttrAtime, kAttrAtimeNow, a.atime),
                      time_text(a, kAttrMtime, kAttrMtimeNow, a.mtime)));
    return calls == 0 ? Exported::no : calls == 1 ? Exported::whole : Exported::partly;
  }

  const int64_t epoch_;
  const std::string top_;
};

}  // namespace

const Exporter kStraceExporter = {
    "strace", "system calls as strace -f -y -ttt -T prints them",
    [](const TraceHeader& h) -> std::unique_ptr<ExportFormat> { return std::make_unique<Calls>(h); }};

}  // namespace fsr::fstrace
