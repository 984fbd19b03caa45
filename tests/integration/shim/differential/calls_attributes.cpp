// SPDX-License-Identifier: Apache-2.0
// Attributes: asking for them, changing them, and who may do what.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "actor.hpp"

namespace differential {

namespace {

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

const Kind kStatFlags{"flags",
                      {{0, "0"}, {0, "0"}},
                      {{AT_SYMLINK_NOFOLLOW, "AT_SYMLINK_NOFOLLOW"},
                       {AT_EMPTY_PATH, "AT_EMPTY_PATH"},
                       {AT_NO_AUTOMOUNT, "AT_NO_AUTOMOUNT"},
                       {AT_STATX_FORCE_SYNC, "AT_STATX_FORCE_SYNC"}},
                      20};
const Kind kMask{"mask",
                 {{STATX_BASIC_STATS, "STATX_BASIC_STATS"},
                  {STATX_ALL, "STATX_ALL"},
                  {STATX_MODE, "STATX_MODE"},
                  {STATX_SIZE, "STATX_SIZE"},
                  {0, "0"},
                  {STATX_MTIME | STATX_CTIME, "STATX_MTIME|STATX_CTIME"}}};
const Kind kUid{"uid",
                {{-1, nullptr}, {0, nullptr}, {1000, nullptr}, {1001, nullptr}, {1002, nullptr}, {1003, nullptr}, {1, nullptr}}};
const Kind kGid{"gid",
                {{-1, nullptr}, {0, nullptr}, {1000, nullptr}, {1001, nullptr}, {2000, nullptr}, {2000, nullptr}, {1, nullptr}}};
const Kind kAccess{"access",
                   {{F_OK, "F_OK"}, {R_OK, "R_OK"}, {W_OK, "W_OK"}, {X_OK, "X_OK"}, {R_OK | W_OK, "R_OK|W_OK"}, {8, "8"}}};
const Kind kAccessFlags{
    "flags",
    {{0, "0"}, {0, "0"}},
    {{AT_EACCESS, "AT_EACCESS"}, {AT_SYMLINK_NOFOLLOW, "AT_SYMLINK_NOFOLLOW"}, {AT_EMPTY_PATH, "AT_EMPTY_PATH"}},
    25};
const timespec kTimes[] = {{0, UTIME_NOW},          {0, UTIME_OMIT},         {1000000, 500000001}, {0, 0},
                           {2147483648, 999999999}, {1234567890, 123456789}, {1, 1000000000}};
const Kind kTime{
    "time", {{0, "now"}, {1, "omit"}, {2, "1000000.5"}, {2, "1000000.5"}, {3, "0"}, {4, "2038"}, {5, "2009"}, {6, "invalid"}}};
const Kind kInodeFlags{"flags",
                       {{0, "0"},
                        {0, "0"},
                        {FS_NODUMP_FL, "FS_NODUMP_FL"},
                        {FS_NOATIME_FL, "FS_NOATIME_FL"},
                        {FS_APPEND_FL, "FS_APPEND_FL"},
                        {FS_IMMUTABLE_FL, "FS_IMMUTABLE_FL"}}};

void report(const Process& p, const struct stat& s, Result& r) {
  int64_t size = S_ISDIR(s.st_mode) ? 0 : s.st_size;  // of a directory: how the file system stores it
  r.fields = {int64_t(s.st_mode),
              int64_t(s.st_nlink),
              s.st_uid,
              s.st_gid,
              int64_t(s.st_rdev),
              size,
              int64_t(s.st_blksize),
              p.recent(s.st_mtim.tv_sec, s.st_mtim.tv_nsec),
              p.recent(s.st_ctim.tv_sec, s.st_ctim.tv_nsec)};
  r.fields[kTimeOfAccess] = p.recent(s.st_atim.tv_sec, s.st_atim.tv_nsec);
}

void fstat_(Process& p, const int64_t* a, Result& r) {
  struct stat s;
  if (!answer(r, fstat(p.fd(a[0]), &s))) return;
  report(p, s, r);
  if (S_ISSOCK(s.st_mode)) r.fields = {};  // it is no file of the directory, though it may be bound to one
}

void statx_(Process& p, const int64_t* a, Result& r) {
  struct statx s;
  if (!answer(r, statx(p.fd(a[0]), path_text(a[1]), int(a[2]), unsigned(a[3]), &s))) return;
  unsigned asked = unsigned(a[3]) & STATX_BASIC_STATS & s.stx_mask;
  auto field = [&](unsigned bit, int64_t value) { return (asked & bit) != 0 ? value : 0; };
  auto time = [&](unsigned bit, const statx_timestamp& t) { return field(bit, p.recent(t.tv_sec, t.tv_nsec)); };
  bool directory = S_ISDIR(s.stx_mode);
  r.fields = {int64_t(asked),
              field(STATX_MODE | STATX_TYPE, s.stx_mode),
              field(STATX_NLINK, s.stx_nlink),
              field(STATX_UID, s.stx_uid),
              field(STATX_GID, s.stx_gid),
              directory ? 0 : field(STATX_SIZE, int64_t(s.stx_size)),
              time(STATX_MTIME, s.stx_mtime),
              time(STATX_CTIME, s.stx_ctime),
              (unsigned(a[3]) & s.stx_mask & STATX_BTIME) != 0 ? p.recent(s.stx_btime.tv_sec, s.stx_btime.tv_nsec) : 0};
  r.fields[kTimeOfAccess] = time(STATX_ATIME, s.stx_atime);
  if (S_ISSOCK(s.stx_mode) && (a[2] & AT_EMPTY_PATH)) r.fields = {};  // as for fstat
}

// Whether two ways lead to one file.
void same(Process& p, const int64_t* a, Result& r) {
  struct stat s, t;
  if (!answer(r, fstat(p.fd(a[0]), &s)) || !answer(r, fstatat(p.fd(a[1]), path_text(a[2]), &t, int(a[3])))) return;
  r.value = s.st_ino == t.st_ino && s.st_dev == t.st_dev;
}

void fchmod_(Process& p, const int64_t* a, Result& r) { answer(r, fchmod(p.fd(a[0]), mode_t(a[1]))); }
void fchmodat2_(Process& p, const int64_t* a, Result& r) {
  answer(r, syscall(SYS_fchmodat2, p.fd(a[0]), path_text(a[1]), mode_t(a[2]), int(a[3])));
}
void fchown_(Process& p, const int64_t* a, Result& r) { answer(r, fchown(p.fd(a[0]), uid_t(a[1]), gid_t(a[2]))); }
void fchownat_(Process& p, const int64_t* a, Result& r) {
  answer(r, fchownat(p.fd(a[0]), path_text(a[1]), uid_t(a[2]), gid_t(a[3]), int(a[4])));
}
void futimens_(Process& p, const int64_t* a, Result& r) {
  timespec times[2] = {kTimes[a[1]], kTimes[a[2]]};
  p.side->set_times.store(1);
  r.fields[kAfterMapping] = p.side->changed_mapping;
  answer(r, futimens(p.fd(a[0]), times));
}
void utimensat_(Process& p, const int64_t* a, Result& r) {
  timespec times[2] = {kTimes[a[2]], kTimes[a[3]]};
  p.side->set_times.store(1);
  r.fields[kAfterMapping] = p.side->changed_mapping;
  answer(r, utimensat(p.fd(a[0]), path_text(a[1]), times, int(a[4])));
}
void faccessat2_(Process& p, const int64_t* a, Result& r) {
  answer(r, syscall(SYS_faccessat2, p.fd(a[0]), path_text(a[1]), int(a[2]), int(a[3])));
}

void statfs_(Process& p, const int64_t* a, Result& r) {
  struct statvfs s;
  if (!answer(r, statvfs(path_text(a[0]), &s))) return;
  r.fields = {int64_t(s.f_bsize), int64_t(s.f_frsize), int64_t(s.f_blocks), int64_t(s.f_namemax)};
}

void get_inode_flags(Process& p, const int64_t* a, Result& r) {
  int flags = 0;
  answer(r, ioctl(p.fd(a[0]), FS_IOC_GETFLAGS, &flags));
  r.fields[0] = flags & ~(FS_EXTENT_FL | FS_INDEX_FL | FS_INLINE_DATA_FL);
}

void set_inode_flags(Process& p, const int64_t* a, Result& r) {
  int flags = 0;
  if (ioctl(p.fd(a[0]), FS_IOC_GETFLAGS, &flags) != 0) flags = 0;
  flags = (flags & ~(FS_NODUMP_FL | FS_NOATIME_FL | FS_APPEND_FL | FS_IMMUTABLE_FL)) | int(a[1]);
  answer(r, ioctl(p.fd(a[0]), FS_IOC_SETFLAGS, &flags));
}

}  // namespace

void add_attribute_calls(std::vector<Call>& calls) {
  calls.push_back({"fstat", 15, {&kSlot}, fstat_});
  calls.push_back({"statx", 40, {&kDirectory, &kPath, &kStatFlags, &kMask}, statx_});
  calls.push_back({"same", 5, {&kSlot, &kDirectory, &kPath, &kAtFlags}, same});
  calls.push_back({"fchmod", 6, {&kSlot, &kMode}, fchmod_});
  calls.push_back({"fchmodat2", 12, {&kDirectory, &kPath, &kMode, &kAtFlags}, fchmodat2_});
  calls.push_back({"fchown", 4, {&kSlot, &kUid, &kGid}, fchown_});
  calls.push_back({"fchownat", 10, {&kDirectory, &kPath, &kUid, &kGid, &kAtFlags}, fchownat_});
  calls.push_back({"futimens", 6, {&kSlot, &kTime, &kTime}, futimens_});
  calls.push_back({"utimensat", 12, {&kDirectory, &kPath, &kTime, &kTime, &kAtFlags}, utimensat_});
  calls.push_back({"faccessat2", 15, {&kDirectory, &kPath, &kAccess, &kAccessFlags}, faccessat2_});
  calls.push_back({"statvfs", 2, {&kPath}, statfs_});
  calls.push_back({"FS_IOC_GETFLAGS", 3, {&kSlot}, get_inode_flags});
  calls.push_back({"FS_IOC_SETFLAGS", 3, {&kSlot, &kInodeFlags}, set_inode_flags});
}

}  // namespace differential
