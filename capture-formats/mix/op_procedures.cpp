// SPDX-License-Identifier: Apache-2.0
#include "mix/op_procedures.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <array>

#include "mix/procedures.hpp"

namespace fsr {

namespace {

// Procedures of an operation. Null: the version has none for it.
struct OpRow {
  OpKind kind;
  const char* nfs2;
  const char* nfs3;
  const char* nfs4;
};

constexpr OpRow kOpRows[] = {
    {OpKind::null, "null", "null", nullptr},
    {OpKind::lookup, "lookup", "lookup", "lookup"},
    {OpKind::getattr, "getattr", "getattr", "getattr"},
    {OpKind::statx, "getattr", "getattr", "getattr"},
    {OpKind::setattr, "setattr", "setattr", "setattr"},
    {OpKind::access, "getattr", "access", "access"},  // version 2 decides by the mode
    {OpKind::readlink, "readlink", "readlink", "readlink"},
    {OpKind::open, nullptr, nullptr, "open"},
    {OpKind::create, "create", "create", "open"},
    {OpKind::tmpfile, "create", "create", "open"},
    {OpKind::read, "read", "read", "read"},
    {OpKind::write, "write", "write", "write"},
    {OpKind::copy_file_range, nullptr, nullptr, "copy"},
    {OpKind::fallocate, nullptr, nullptr, "allocate"},
    {OpKind::lseek, nullptr, nullptr, "seek"},
    {OpKind::fsync, nullptr, "commit", "commit"},
    {OpKind::release, nullptr, nullptr, "close"},
    {OpKind::readdir, "readdir", "readdir", "readdir"},
    {OpKind::readdirplus, "readdir", "readdirplus", "readdir"},
    {OpKind::mkdir, "mkdir", "mkdir", "create"},
    {OpKind::mknod, "create", "mknod", "create"},
    {OpKind::symlink, "symlink", "symlink", "create"},
    {OpKind::link, "link", "link", "link"},
    {OpKind::unlink, "remove", "remove", "remove"},
    {OpKind::rmdir, "rmdir", "rmdir", "remove"},
    {OpKind::rename, "rename", "rename", "rename"},
    {OpKind::statfs, "fsstat", "fsstat", "getattr"},
    {OpKind::getxattr, nullptr, nullptr, "getxattr"},
    {OpKind::setxattr, nullptr, nullptr, "setxattr"},
    {OpKind::listxattr, nullptr, nullptr, "listxattrs"},
    {OpKind::removexattr, nullptr, nullptr, "removexattr"},
    {OpKind::getlk, nullptr, nullptr, "lockt"},
    {OpKind::setlk, nullptr, nullptr, "lock"},
    {OpKind::flock, nullptr, nullptr, "lock"},
};

using Table = std::array<std::array<int, kOpKinds>, 3>;

Table make_table() {
  Table table;
  for (auto& version : table) version.fill(-1);
  for (const OpRow& row : kOpRows) {
    const char* const names[] = {row.nfs2, row.nfs3, row.nfs4};
    for (unsigned v = 0; v < 3; ++v)
      if (names[v]) table[v][unsigned(row.kind)] = nfs_procedure_index(v + 2, names[v]);
  }
  return table;
}

}  // namespace

int nfs_procedure_of(unsigned version, OpKind kind) {
  static const Table table = make_table();
  if (version < 2 || version > 4) return -1;
  return table[version - 2][unsigned(kind)];
}

int nfs_procedure_of(unsigned version, const Op& op) {
  static const int locku = nfs_procedure_index(4, "locku"), deallocate = nfs_procedure_index(4, "deallocate");
  if (version == 3 && op.kind == OpKind::statfs && op.flags != 0)
    return nfs_procedure_index(3, op.flags == kStatfsInfo ? "fsinfo" : "pathconf");
  if (version == 4) {
    if (op.kind == OpKind::setlk && op.mode == F_UNLCK) return locku;
    if (op.kind == OpKind::flock && op.mode == LOCK_UN) return locku;
    if (op.kind == OpKind::fallocate && (op.mode & FALLOC_FL_PUNCH_HOLE)) return deallocate;
  }
  return nfs_procedure_of(version, op.kind);
}

}  // namespace fsr
