// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstring>

#include "nfs/nfs3.hpp"

namespace fsr::nfs {

namespace {

constexpr size_t kLongestName = 4096, kLongestLink = 65536;
constexpr uint32_t kTypes[] = {0, S_IFREG, S_IFDIR, S_IFBLK, S_IFCHR, S_IFLNK, S_IFSOCK, S_IFIFO};

int64_t decode_time(XdrDecoder& in) {
  int64_t seconds = in.u32();
  return seconds * 1'000'000'000 + in.u32();
}

void decode_attr(XdrDecoder& in, Attr* attr, std::optional<FileSystemId>* system = nullptr) {
  uint32_t type = in.u32();
  if (type == 0 || type >= std::size(kTypes)) return in.fail();
  attr->mode = kTypes[type] | (in.u32() & 07777);
  attr->nlink = in.u32();
  attr->uid = in.u32();
  attr->gid = in.u32();
  attr->size = in.u64();
  attr->blocks = in.u64() / 512;
  uint32_t device_major = in.u32(), device_minor = in.u32();
  attr->rdev = makedev(device_major, device_minor);
  const uint64_t fsid = in.u64();
  if (system) *system = FileSystemId{fsid, 0};
  in.skip(8);  // file id
  attr->atime = decode_time(in);
  attr->mtime = decode_time(in);
  attr->ctime = decode_time(in);
  attr->valid =
      kAttrMode | kAttrUid | kAttrGid | kAttrSize | kAttrNlink | kAttrAtime | kAttrMtime | kAttrCtime | kAttrBlocks | kAttrRdev;
}

void decode_post_attr(XdrDecoder& in, Attr* attr, std::optional<FileSystemId>* system = nullptr) {
  if (in.boolean()) decode_attr(in, attr, system);
}

void skip_post_attr(XdrDecoder& in) {
  Attr attr;
  decode_post_attr(in, &attr);
}

void decode_wcc(XdrDecoder& in, Attr* attr) {
  if (in.boolean()) in.skip(8 + 8 + 8);  // size, mtime and ctime before
  decode_post_attr(in, attr);
}

void decode_post_handle(XdrDecoder& in, FileHandle* handle) {
  if (in.boolean()) decode_handle(in, handle);
}

void decode_entries(XdrDecoder& in, bool plus, Reply* r) {
  r->verifier = in.u64();
  while (in.boolean()) {
    Entry e;
    e.fileid = in.u64();
    e.name = in.opaque(kLongestName);
    e.cookie = in.u64();
    if (plus) {
      Attr attr;
      FileHandle handle;
      decode_post_attr(in, &attr);
      decode_post_handle(in, &handle);
      e.type = attr.mode & S_IFMT;
    }
    if (!in.ok()) return;
    r->entries.push_back(e);
  }
  r->eof = in.boolean();
}

void decode_read(XdrDecoder& in, Reply* r) {
  decode_post_attr(in, &r->attr);
  r->count = in.u32();
  r->eof = in.boolean();
  r->data = in.opaque(in.left());
  if (r->data.size() != r->count) in.fail();
}

void decode_write(XdrDecoder& in, Reply* r) {
  decode_wcc(in, &r->attr);
  r->count = in.u32();
  uint32_t committed = in.u32();
  if (committed > uint32_t(Stable::file)) in.fail();
  r->committed = Stable(committed);
  r->verifier = in.u64();
}

void decode_fsstat(XdrDecoder& in, Reply* r) {
  decode_post_attr(in, &r->attr);
  r->total_bytes = in.u64();
  in.u64();  // free, but not for us
  r->available_bytes = in.u64();
  in.skip(3 * 8 + 4);  // files, how long this stays true
}

void decode_fsinfo(XdrDecoder& in, Reply* r) {
  decode_post_attr(in, &r->attr, &r->system);
  r->read_max = in.u32();
  in.skip(2 * 4);  // read: wanted, multiple
  r->write_max = in.u32();
  in.skip(2 * 4);
  r->readdir_wanted = in.u32();
  in.skip(8 + 8 + 4);  // longest file, time granularity, properties
}

void decode_success(Proc proc, XdrDecoder& in, Reply* r) {
  switch (proc) {
    case Proc::null:
      return;
    case Proc::getattr:
      return decode_attr(in, &r->attr);
    case Proc::setattr:
      return decode_wcc(in, &r->attr);
    case Proc::lookup:
      decode_handle(in, &r->handle);
      decode_post_attr(in, &r->attr, &r->system);
      return skip_post_attr(in);  // the directory's
    case Proc::access:
      decode_post_attr(in, &r->attr);
      r->access = in.u32();
      return;
    case Proc::readlink:
      decode_post_attr(in, &r->attr);
      r->data = in.opaque(kLongestLink);
      return;
    case Proc::read:
      return decode_read(in, r);
    case Proc::write:
      return decode_write(in, r);
    case Proc::create:
    case Proc::mkdir:
    case Proc::symlink:
    case Proc::mknod: {
      Attr dir;
      decode_post_handle(in, &r->handle);
      decode_post_attr(in, &r->attr);
      return decode_wcc(in, &dir);
    }
    case Proc::remove:
    case Proc::rmdir: {
      Attr dir;
      return decode_wcc(in, &dir);
    }
    case Proc::rename: {
      Attr dir;
      decode_wcc(in, &dir);
      return decode_wcc(in, &dir);
    }
    case Proc::link: {
      Attr dir;
      decode_post_attr(in, &r->attr);
      return decode_wcc(in, &dir);
    }
    case Proc::readdir:
    case Proc::readdirplus:
      skip_post_attr(in);  // the directory's
      return decode_entries(in, proc == Proc::readdirplus, r);
    case Proc::fsstat:
      return decode_fsstat(in, r);
    case Proc::fsinfo:
      return decode_fsinfo(in, r);
    case Proc::pathconf:
      decode_post_attr(in, &r->attr);
      return in.skip(6 * 4);
    case Proc::commit:
      decode_wcc(in, &r->attr);
      r->verifier = in.u64();
      return;
  }
}

}  // namespace

void Reply::clear() {
  std::vector<Entry> kept = std::move(entries);
  kept.clear();
  *this = Reply();
  entries = std::move(kept);
}

bool decode_handle(XdrDecoder& in, FileHandle* handle, size_t longest) {
  std::string_view bytes = in.opaque(longest);
  if (bytes.empty()) {
    in.fail();
    return false;
  }
  handle->size = uint8_t(bytes.size());
  memcpy(handle->bytes.data(), bytes.data(), bytes.size());
  return in.ok();
}

bool decode_results(Proc proc, XdrDecoder& in, Reply* reply) {
  reply->clear();
  if (proc != Proc::null) reply->status = in.u32();
  if (reply->status == kOk) decode_success(proc, in, reply);  // what follows an error holds nothing that is needed
  return in.ok();
}

bool idempotent(Proc proc) {
  switch (proc) {
    case Proc::create:
    case Proc::mkdir:
    case Proc::symlink:
    case Proc::mknod:
    case Proc::remove:
    case Proc::rmdir:
    case Proc::rename:
    case Proc::link:
      return false;
    default:
      return true;
  }
}

int status_errno(uint32_t status) {
  switch (status) {  // most have the numbers of the BSDs' errno
    case 0:
      return 0;
    case 1:
      return EPERM;
    case 2:
      return ENOENT;
    case 5:
      return EIO;
    case 6:
      return ENXIO;
    case 13:
      return EACCES;
    case 17:
      return EEXIST;
    case 18:
      return EXDEV;
    case 19:
      return ENODEV;
    case 20:
      return ENOTDIR;
    case 21:
      return EISDIR;
    case 22:
      return EINVAL;
    case 27:
      return EFBIG;
    case 28:
      return ENOSPC;
    case 30:
      return EROFS;
    case 31:
      return EMLINK;
    case 63:
      return ENAMETOOLONG;
    case 66:
      return ENOTEMPTY;
    case 69:
      return EDQUOT;
    case 70:
      return ESTALE;
    case 71:
      return EREMOTE;
    case 10001:
      return ESTALE;  // bad handle
    case 10003:
      return EINVAL;  // bad cookie
    case 10004:
      return EOPNOTSUPP;  // not supported
    case 10005:
      return EINVAL;  // buffer too small
    case 10007:
      return EINVAL;  // type not supported
    case 10008:
      return EAGAIN;  // try later
    default:
      return EIO;
  }
}

}  // namespace fsr::nfs
