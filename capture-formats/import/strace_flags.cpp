// SPDX-License-Identifier: Apache-2.0
// Constants by the names that strace prints.
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>

#include "strace_line.hpp"

namespace fsr::strace {

#define NAMED(constant) \
  { #constant, uint64_t(constant) }

static const std::unordered_map<std::string_view, uint64_t> kConstants = {
    // open
    NAMED(O_RDONLY),
    NAMED(O_WRONLY),
    NAMED(O_RDWR),
    NAMED(O_CREAT),
    NAMED(O_EXCL),
    NAMED(O_NOCTTY),
    NAMED(O_TRUNC),
    NAMED(O_APPEND),
    NAMED(O_NONBLOCK),
    NAMED(O_DSYNC),
    NAMED(O_SYNC),
    NAMED(O_DIRECT),
    {"O_LARGEFILE", 0},
    NAMED(O_DIRECTORY),
    NAMED(O_NOFOLLOW),
    NAMED(O_NOATIME),
    NAMED(O_CLOEXEC),
    NAMED(O_PATH),
    NAMED(O_TMPFILE),
    // modes
    NAMED(S_IFREG),
    NAMED(S_IFDIR),
    NAMED(S_IFLNK),
    NAMED(S_IFCHR),
    NAMED(S_IFBLK),
    NAMED(S_IFIFO),
    NAMED(S_IFSOCK),
    NAMED(S_ISUID),
    NAMED(S_ISGID),
    NAMED(S_ISVTX),
    // *at
    NAMED(AT_SYMLINK_NOFOLLOW),
    NAMED(AT_REMOVEDIR),
    NAMED(AT_SYMLINK_FOLLOW),
    NAMED(AT_EMPTY_PATH),
    NAMED(AT_EACCESS),
    // access, lseek
    NAMED(R_OK),
    NAMED(W_OK),
    NAMED(X_OK),
    NAMED(F_OK),
    NAMED(SEEK_SET),
    NAMED(SEEK_CUR),
    NAMED(SEEK_END),
    NAMED(SEEK_DATA),
    NAMED(SEEK_HOLE),
    // fcntl, locks
    NAMED(F_DUPFD),
    NAMED(F_DUPFD_CLOEXEC),
    NAMED(F_GETFD),
    NAMED(F_SETFD),
    NAMED(F_GETFL),
    NAMED(F_SETFL),
    NAMED(F_GETLK),
    NAMED(F_SETLK),
    NAMED(F_SETLKW),
    NAMED(F_OFD_GETLK),
    NAMED(F_OFD_SETLK),
    NAMED(F_OFD_SETLKW),
    {"F_GETLK64", F_GETLK},
    {"F_SETLK64", F_SETLK},
    {"F_SETLKW64", F_SETLKW},
    NAMED(FD_CLOEXEC),
    NAMED(F_RDLCK),
    NAMED(F_WRLCK),
    NAMED(F_UNLCK),
    NAMED(LOCK_SH),
    NAMED(LOCK_EX),
    NAMED(LOCK_NB),
    NAMED(LOCK_UN),
    // others
    NAMED(FALLOC_FL_KEEP_SIZE),
    NAMED(FALLOC_FL_PUNCH_HOLE),
    NAMED(FALLOC_FL_COLLAPSE_RANGE),
    NAMED(FALLOC_FL_ZERO_RANGE),
    NAMED(FALLOC_FL_INSERT_RANGE),
    NAMED(FALLOC_FL_UNSHARE_RANGE),
    NAMED(RENAME_NOREPLACE),
    NAMED(RENAME_EXCHANGE),
    NAMED(RENAME_WHITEOUT),
    NAMED(XATTR_CREATE),
    NAMED(XATTR_REPLACE),
    {"CLOSE_RANGE_CLOEXEC", 4},
    {"CLOSE_RANGE_UNSHARE", 2},
};

#undef NAMED

uint64_t parse_flags(std::string_view arg) {
  uint64_t all = 0;
  while (!arg.empty()) {
    const size_t end = std::min(arg.find('|'), arg.size());
    std::string_view part = arg.substr(0, end);
    arg.remove_prefix(std::min(end + 1, arg.size()));
    part = part.substr(0, part.find(' '));
    int64_t number;
    if (auto it = kConstants.find(part); it != kConstants.end())
      all |= it->second;
    else if (parse_number(part, &number))
      all |= uint64_t(number);
  }
  return all;
}

}  // namespace fsr::strace
