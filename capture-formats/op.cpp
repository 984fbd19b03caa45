// SPDX-License-Identifier: Apache-2.0
#include "op.hpp"

#include <array>

namespace fsr {

constexpr std::array<const char*, kOpKinds> kNames = {
    "null",      "lookup",      "getattr", "statx",           "setattr",    "access",   "readlink", "open",
    "create",    "read",        "write",   "copy_file_range", "fallocate",  "lseek",    "fsync",    "flush",
    "release",   "opendir",     "readdir", "readdirplus",     "releasedir", "fsyncdir", "mkdir",    "mknod",
    "symlink",   "link",        "unlink",  "rmdir",           "rename",     "statfs",   "getxattr", "setxattr",
    "listxattr", "removexattr", "getlk",   "setlk",           "flock",      "ioctl",    "tmpfile",  "syncfs",
};

const char* op_name(OpKind kind) { return unsigned(kind) < kOpKinds ? kNames[unsigned(kind)] : "unknown"; }

bool op_from_name(std::string_view name, OpKind* kind) {
  for (unsigned i = 0; i < kOpKinds; ++i)
    if (name == kNames[i]) {
      *kind = OpKind(i);
      return true;
    }
  return false;
}

bool valid_component(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace fsr
