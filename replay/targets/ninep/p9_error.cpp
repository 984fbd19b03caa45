// SPDX-License-Identifier: Apache-2.0
// The texts of 9P2000's Rerror as errno: what Unix servers say are the texts of strerror(3); the others are those that Plan 9's
// and its relatives' servers use (intro(5), and the table of net/9p/error.c in Linux tells which number each deserves).
#include <errno.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <unordered_map>

#include "targets/ninep/p9.hpp"

namespace fsr::ninep {

namespace {

constexpr std::pair<const char*, int> kPlan9Texts[] = {
    {"file not found", ENOENT},
    {"file does not exist", ENOENT},
    {"no such file", ENOENT},
    {"unknown file", ENOENT},
    {"not found", ENOENT},
    {"file already exists", EEXIST},
    {"file or directory already exists", EEXIST},
    {"file exists", EEXIST},
    {"already exists", EEXIST},
    {"entity already exists", EEXIST},
    {"permission denied", EACCES},
    {"access permission denied", EACCES},
    {"wstat prohibited", EPERM},
    {"wstat qid does not match target", kQidMismatch},
    {"not owner", EPERM},
    {"mount rejected", EPERM},
    {"directory entry not found", ENOENT},
    {"directory entry is not allowed", EPERM},
    {"directory is not empty", ENOTEMPTY},
    {"directory not empty", ENOTEMPTY},
    {"not a directory", ENOTDIR},
    {"is a directory", EISDIR},
    {"file is a directory", EISDIR},
    {"file is in use", ETXTBSY},
    {"file is open for i/o", ETXTBSY},
    {"file in use", EBUSY},
    {"bad fid", EBADF},
    {"unknown fid", EBADF},
    {"fid unknown or out of range", EBADF},
    {"fid already in use", EBADF},
    {"bad offset in directory read", ESPIPE},
    {"illegal offset", EINVAL},
    {"illegal mode", EINVAL},
    {"illegal name", ENAMETOOLONG},
    {"bad character in file name", EINVAL},
    {"file name syntax", EINVAL},
    {"name too long", ENAMETOOLONG},
    {"file name too long", ENAMETOOLONG},
    {"read only file system", EROFS},
    {"read-only file system", EROFS},
    {"file system read only", EROFS},
    {"file system is full", ENOSPC},
    {"no free blocks", ENOSPC},
    {"no space left on device", ENOSPC},
    {"i/o error", EIO},
    {"i/o count too large", EINVAL},
    {"illegal seek", ESPIPE},
    {"bad use of fid", EBADF},
    {"unknown group", EINVAL},
    {"unknown user", EINVAL},
    {"too many levels of symbolic links", ELOOP},
    {"operation not supported", EOPNOTSUPP},
    {"unknown or unsupported operation", EOPNOTSUPP},
    {"not supported", EOPNOTSUPP},
    {"authentication failed", ECONNREFUSED},
    {"authentication not required", ECONNREFUSED},
    {"invalid argument", EINVAL},
};

std::string lower(std::string_view text) {
  std::string s(text);
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return char(tolower(c)); });
  return s;
}

std::unordered_map<std::string, int> texts() {
  std::unordered_map<std::string, int> map;
  for (int e = 1; e < 134; ++e)
    if (const char* text = strerrordesc_np(e)) map.emplace(lower(text), e);
  for (const auto& [text, e] : kPlan9Texts) map.emplace(text, e);
  return map;
}

}  // namespace

int error_number(std::string_view text) {
  static const std::unordered_map<std::string, int> known = texts();
  std::string wanted = lower(text);
  if (auto found = known.find(wanted); found != known.end()) return found->second;
  // Rust's standard library appends the number.
  if (size_t at = wanted.find(" (os error "); at != std::string::npos) {
    int e = atoi(wanted.c_str() + at + 11);
    if (e > 0 && e < 134) return e;
  }
  // "'name': text" and "text: 'name'" are customary.
  for (const auto& [known_text, e] : known)
    if (known_text.size() > 8 && (wanted.ends_with(": " + known_text) || wanted.starts_with(known_text + ":"))) return e;
  return EIO;
}

}  // namespace fsr::ninep
