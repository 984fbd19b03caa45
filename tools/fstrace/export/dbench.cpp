// SPDX-License-Identifier: Apache-2.0
// Load file of dbench 5 for NFS (`dbench -B nfs`): `seconds OPERATION3 "/clients/client1/path" parameters 0xSTATUS`, where
// client1 becomes the name of each client. Its offsets and lengths are 32 bits, its lines 1023 bytes, and it takes no blanks in
// names.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "format.hpp"

namespace fsr::fstrace {

namespace {

constexpr size_t kLongestLine = 1000;

// NFS3ERR_*, RFC 1813. 0: NFS knows no such error.
uint32_t nfs_status(int error) {
  switch (error) {
    case EPERM:
      return 1;
    case ENOENT:
      return 2;
    case EIO:
      return 5;
    case EACCES:
      return 13;
    case EEXIST:
      return 17;
    case EXDEV:
      return 18;
    case ENOTDIR:
      return 20;
    case EISDIR:
      return 21;
    case EINVAL:
      return 22;
    case EFBIG:
      return 27;
    case ENOSPC:
      return 28;
    case EROFS:
      return 30;
    case EMLINK:
      return 31;
    case ENAMETOOLONG:
      return 63;
    case ENOTEMPTY:
      return 66;
    case EDQUOT:
      return 69;
    case ESTALE:
      return 70;
    default:
      return 0;
  }
}

const char* procedure(OpKind kind) {
  switch (kind) {
    case OpKind::lookup:
      return "LOOKUP3";
    case OpKind::getattr:
    case OpKind::statx:
      return "GETATTR3";
    case OpKind::access:
      return "ACCESS3";
    case OpKind::create:
      return "CREATE3";
    case OpKind::read:
      return "READ3";
    case OpKind::write:
      return "WRITE3";
    case OpKind::fsync:
      return "COMMIT3";
    case OpKind::readdir:
    case OpKind::readdirplus:
      return "READDIRPLUS3";
    case OpKind::mkdir:
      return "MKDIR3";
    case OpKind::rmdir:
      return "RMDIR3";
    case OpKind::unlink:
      return "REMOVE3";
    case OpKind::rename:
      return "RENAME3";
    case OpKind::link:
      return "LINK3";
    case OpKind::symlink:
      return "SYMLINK3";
    case OpKind::statfs:
      return "FSSTAT3";
    default:
      return nullptr;
  }
}

class LoadFile final : public ExportFormat {
 public:
  // As dbench's own load files begin: `*` is any outcome, and each client starts with an empty directory.
  void begin(fmt::memory_buffer& out) override {
    fmt::format_to(std::back_inserter(out),
                   "0.000 Deltree \"/clients/client1\" *\n0.000 MKDIR3 \"/clients\" *\n0.000 MKDIR3 \"/clients/client1\" *\n");
  }
  Exported add(fmt::memory_buffer& out, const Op& op, const Paths& paths) override {
    switch (op.kind) {
      case OpKind::open:
      case OpKind::opendir:
      case OpKind::flush:
      case OpKind::release:
      case OpKind::releasedir:
        return Exported::unneeded;
      default:
        break;
    }
    const char* name = procedure(op.kind);
    const uint32_t status = nfs_status(op.error);
    if (!name || op.has(kOpUnfinished) || (op.error && !status)) return Exported::no;
    if ((op.kind == OpKind::read || op.kind == OpKind::write) && op.offset + op.length > INT32_MAX) return Exported::no;
    // In dbench's own load files, the new name of a link comes first, and that of a rename second.
    std::string path = paths.of(op), path2;
    if (op.kind == OpKind::rename) path2 = paths.path(op.parent2, op.name2);
    if (op.kind == OpKind::link) path2 = std::exchange(path, paths.path(op.parent2, op.name2));
    if (op.kind == OpKind::symlink) path2 = op.data;
    if (!plain(path) || !plain(path2) || path.size() + path2.size() > kLongestLine / 2) return Exported::no;
    // 0 would mean at once.
    const int64_t time = std::max<int64_t>(op.start / 1000, 1);
    fmt::format_to(std::back_inserter(out), "{}.{:06} {}", time / 1'000'000, time % 1'000'000, name);
    if (op.kind != OpKind::statfs) fmt::format_to(std::back_inserter(out), " \"{}\"", client_path(path));
    if (!path2.empty()) fmt::format_to(std::back_inserter(out), " \"{}\"", client_path(path2));
    if (op.kind == OpKind::read) fmt::format_to(std::back_inserter(out), " {} {}", op.offset, op.length);
    if (op.kind == OpKind::write) fmt::format_to(std::back_inserter(out), " {} {} 0", op.offset, op.length);
    // dbench 5.0 sends LINK with handles that are not the ones meant: every outcome is accepted.
    if (op.kind == OpKind::link)
      fmt::format_to(std::back_inserter(out), " *\n");
    else
      fmt::format_to(std::back_inserter(out), " 0x{:08x}\n", status);
    return op.kind == OpKind::link || op.kind == OpKind::symlink ? Exported::partly : Exported::whole;
  }

 private:
  static bool plain(std::string_view path) { return path.find_first_of(" \t\r\n\"\\#") == std::string_view::npos; }
  static std::string client_path(const std::string& path) { return "/clients/client1" + (path == "." ? "" : "/" + path); }
};

}  // namespace

const Exporter kDbenchExporter = {
    "dbench", "load file of dbench 5 for NFS",
    [](const TraceHeader&) -> std::unique_ptr<ExportFormat> { return std::make_unique<LoadFile>(); }};

}  // namespace fsr::fstrace
