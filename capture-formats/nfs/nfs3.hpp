// SPDX-License-Identifier: Apache-2.0
// NFS version 3 (RFC 1813): encodes arguments, decodes results.
//
// Encoders append a procedure's arguments to a call that begin_call() began. The decoder reads any procedure's results into one
// struct, into the same model of attributes that operations use. It trusts no length, count or enumeration; names and data are
// views into the reply.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nfs/rpc.hpp"
#include "nfs/xdr.hpp"
#include "op.hpp"

namespace fsr::nfs {

constexpr uint16_t kNfsPort = 2049;
constexpr uint32_t kNfsProgram = 100003, kNfs3 = 3;
constexpr size_t kLongestHandle3 = 64, kLongestHandle = 128;  // version 3, any

// Opaque bytes that name a file.
struct FileHandle {
  uint8_t size = 0;
  std::array<char, kLongestHandle> bytes;
  std::string_view view() const { return {bytes.data(), size}; }
};

enum class Proc : uint8_t {
  null,
  getattr,
  setattr,
  lookup,
  access,
  readlink,
  read,
  write,
  create,
  mkdir,
  symlink,
  mknod,
  remove,
  rmdir,
  rename,
  link,
  readdir,
  readdirplus,
  fsstat,
  fsinfo,
  pathconf,
  commit,
};
constexpr unsigned kProcs = unsigned(Proc::commit) + 1;

// True: a repeated request has no further effect. That holds for WRITE and SETATTR: their offsets and values are absolute.
bool idempotent(Proc proc);

enum Status : uint32_t { kOk = 0, kStatusNotFound = 2, kStatusJukebox = 10008 };
int status_errno(uint32_t status);  // 0 for kOk

enum class Stable : uint32_t { unstable, data, file };
enum class CreateMode : uint32_t { unchecked, guarded };

struct Entry {
  std::string_view name;
  uint64_t fileid = 0;
  uint64_t cookie = 0;
  uint32_t type = 0;  // S_IFMT bits, 0 = unknown
};

// Results of a procedure. Members that it does not return keep their initial values. An fsid. On a server, a file system behind a
// mount point has another one, unless the same file system is mounted there again.
struct FileSystemId {
  uint64_t major = 0, minor = 0;
  bool operator==(const FileSystemId&) const = default;
};
inline bool differ(const std::optional<FileSystemId>& a, const std::optional<FileSystemId>& b) { return a && b && *a != *b; }

struct Reply {
  uint32_t status = kOk;
  Attr attr;                           // of the object that the procedure is about; valid = 0 if the server did not say
  FileHandle handle;                   // of what was found or made; size 0 if the server did not say
  std::optional<FileSystemId> system;  // LOOKUP, FSINFO: that the object is on, if the server said
  std::string_view data;
  uint32_t access = 0;
  uint32_t count = 0;
  bool eof = false;
  Stable committed = Stable::unstable;
  uint64_t verifier = 0;  // of writes, or of a directory's cookies
  std::vector<Entry> entries;
  uint64_t total_bytes = 0, available_bytes = 0;             // FSSTAT
  uint32_t read_max = 0, write_max = 0, readdir_wanted = 0;  // FSINFO
  void clear();                                              // keeps capacity
};

// Reads the results of `proc`. False: malformed, `reply` holds nothing of use.
bool decode_results(Proc proc, XdrDecoder& in, Reply* reply);
bool decode_handle(XdrDecoder& in, FileHandle* handle, size_t longest = kLongestHandle3);

void encode_handle(XdrEncoder& out, const FileHandle& handle);                    // GETATTR READLINK FSSTAT FSINFO PATHCONF
void encode_name(XdrEncoder& out, const FileHandle& dir, std::string_view name);  // LOOKUP REMOVE RMDIR
void encode_setattr(XdrEncoder& out, const FileHandle& file, const Attr& set);
void encode_access(XdrEncoder& out, const FileHandle& file, uint32_t bits);
void encode_read(XdrEncoder& out, const FileHandle& file, uint64_t offset, uint32_t count);
void encode_write(XdrEncoder& out, const FileHandle& file, uint64_t offset, uint32_t count, Stable stable);  // data follows
void encode_create(XdrEncoder& out, const FileHandle& dir, std::string_view name, CreateMode mode, const Attr& set);
void encode_mkdir(XdrEncoder& out, const FileHandle& dir, std::string_view name, const Attr& set);
void encode_symlink(XdrEncoder& out, const FileHandle& dir, std::string_view name, std::string_view target);
void encode_mknod(XdrEncoder& out, const FileHandle& dir, std::string_view name, const Attr& set);  // mode has the type
void encode_rename(XdrEncoder& out, const FileHandle& from, std::string_view name, const FileHandle& to, std::string_view name2);
void encode_link(XdrEncoder& out, const FileHandle& file, const FileHandle& dir, std::string_view name);
void encode_readdir(XdrEncoder& out, const FileHandle& dir, uint64_t cookie, uint64_t verifier, uint32_t count);
void encode_readdirplus(XdrEncoder& out, const FileHandle& dir, uint64_t cookie, uint64_t verifier, uint32_t count);
void encode_commit(XdrEncoder& out, const FileHandle& file);  // the whole file

}  // namespace fsr::nfs
