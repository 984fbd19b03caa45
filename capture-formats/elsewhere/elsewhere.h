// SPDX-License-Identifier: Apache-2.0
// Names of Linux' headers and of glibc, for a build on macOS or FreeBSD (-Dprograms=fstrace). meson.build includes this into all
// files. Numbers are those of Linux, which traces contain. Numbers of open(2) and of errors are this system's where it has them.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

// open(2): bits that this system leaves free.
#ifndef O_DIRECT
#define O_DIRECT 0x40000000
#endif
#ifndef O_NOATIME
#define O_NOATIME 0x08000000
#endif
#ifndef O_PATH
#define O_PATH O_RDONLY
#endif
#define O_TMPFILE (0x10000000 | O_DIRECTORY)

#ifndef F_OFD_SETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif

#define FALLOC_FL_KEEP_SIZE 0x01
#define FALLOC_FL_PUNCH_HOLE 0x02
#define FALLOC_FL_NO_HIDE_STALE 0x04
#define FALLOC_FL_COLLAPSE_RANGE 0x08
#define FALLOC_FL_ZERO_RANGE 0x10
#define FALLOC_FL_INSERT_RANGE 0x20
#define FALLOC_FL_UNSHARE_RANGE 0x40

#undef RENAME_EXCHANGE
#define RENAME_NOREPLACE (1 << 0)
#define RENAME_EXCHANGE (1 << 1)
#define RENAME_WHITEOUT (1 << 2)

#ifndef ENODATA
#define ENODATA 61
#endif
#ifndef EKEYEXPIRED
#define EKEYEXPIRED 127
#endif
#ifndef EREMOTEIO
#define EREMOTEIO 121
#endif

// Birth times and numbers of mounts are not known here.
#define AT_EMPTY_PATH 0
#define AT_STATX_DONT_SYNC 0
#define STATX_BTIME 1
#define STATX_MNT_ID 2
struct statx {
  uint32_t stx_mask;
  uint64_t stx_mnt_id;
  struct {
    int64_t tv_sec;
    uint32_t tv_nsec;
  } stx_btime;
};
static inline int statx(int, const char*, int, unsigned, struct statx*) { return errno = ENOSYS, -1; }

#ifdef __APPLE__
static inline ssize_t getrandom(void* to, size_t bytes, unsigned) { return getentropy(to, bytes) == 0 ? (ssize_t)bytes : -1; }
static inline int posix_fallocate(int fd, off_t offset, off_t bytes) {
  fstore_t room = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, offset + bytes, 0};
  return fcntl(fd, F_PREALLOCATE, &room) == 0 ? 0 : errno;
}
#endif

// Callers that must not replace a file then make a link.
static inline int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  return flags ? (errno = EINVAL, -1) : renameat(from_at, from, to_at, to);
}

// Traces have Linux' errors.
static inline const char* strerrorname_np(int error) {
  // clang-format off
  static const char* const names[] = {
    0, "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD", "EAGAIN", "ENOMEM",
    "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR", "EINVAL", "ENFILE", "EMFILE",
    "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE", "EDEADLK",
    "ENAMETOOLONG", "ENOLCK", "ENOSYS", "ENOTEMPTY", "ELOOP", 0, "ENOMSG", "EIDRM", "ECHRNG", "EL2NSYNC", "EL3HLT", "EL3RST",
    "ELNRNG", "EUNATCH", "ENOCSI", "EL2HLT", "EBADE", "EBADR", "EXFULL", "ENOANO", "EBADRQC", "EBADSLT", 0, "EBFONT",
    "ENOSTR", "ENODATA", "ETIME", "ENOSR", "ENONET", "ENOPKG", "EREMOTE", "ENOLINK", "EADV", "ESRMNT", "ECOMM", "EPROTO",
    "EMULTIHOP", "EDOTDOT", "EBADMSG", "EOVERFLOW", "ENOTUNIQ", "EBADFD", "EREMCHG", "ELIBACC", "ELIBBAD", "ELIBSCN",
    "ELIBMAX", "ELIBEXEC", "EILSEQ", "ERESTART", "ESTRPIPE", "EUSERS", "ENOTSOCK", "EDESTADDRREQ", "EMSGSIZE", "EPROTOTYPE",
    "ENOPROTOOPT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EOPNOTSUPP", "EPFNOSUPPORT", "EAFNOSUPPORT", "EADDRINUSE",
    "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH", "ENETRESET", "ECONNABORTED", "ECONNRESET", "ENOBUFS", "EISCONN", "ENOTCONN",
    "ESHUTDOWN", "ETOOMANYREFS", "ETIMEDOUT", "ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH", "EALREADY", "EINPROGRESS",
    "ESTALE", "EUCLEAN", "ENOTNAM", "ENAVAIL", "EISNAM", "EREMOTEIO", "EDQUOT", "ENOMEDIUM", "EMEDIUMTYPE", "ECANCELED",
    "ENOKEY", "EKEYEXPIRED", "EKEYREVOKED", "EKEYREJECTED", "EOWNERDEAD", "ENOTRECOVERABLE"};
  // clang-format on
  return error > 0 && error < (int)(sizeof names / sizeof names[0]) ? names[error] : 0;
}
static inline const char* strerrordesc_np(int error) { return strerrorname_np(error); }
