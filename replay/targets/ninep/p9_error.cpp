// SPDX-License-Identifier: Apache-2.0
// Converts the texts of 9P2000's Rerror to errno. Unix servers send the texts of strerror(3). The others are texts of Plan 9's
// kernel and servers (lib9p, fossil, ramfs), u9fs, go9p and similar ones. See intro(5) of Plan 9, and the table in Linux'
// net/9p/error.c for most of the numbers. For a server with other texts, add a line in lower case to kPlan9Texts.
#include <errno.h>

#include <cctype>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

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
    {"not implemented", EOPNOTSUPP},
    {"device or object already in use", EBUSY},
    {"file is locked", EBUSY},
    {"file already open for i/o", ETXTBSY},
    {"fid already opened", EBADF},
    {"fid already open", EBADF},
    {"duplicate fid", EBADF},
    {"walk in non-directory", ENOTDIR},
    {"create in non-directory", ENOTDIR},
    {"create prohibited", EACCES},
    {"mounted directory forbids creation", EACCES},
    {"remove prohibited", EACCES},
    {"write prohibited", EACCES},
    {"stat prohibited", EACCES},
    {"only owner can change group in wstat", EPERM},
    {"not a member of proposed group", EPERM},
    {"wstat cannot convert between files and directories", EPERM},
    {"cannot convert between files and directories", EPERM},
    {"no access to special files", EACCES},
    {"bogus wstat buffer", EINVAL},
    {"malformed stat buffer", EINVAL},
    {"bad directory in wstat", EINVAL},
    {"bad offset", EINVAL},
    {"negative i/o offset", EINVAL},
    {"bad count", EINVAL},
    {"i/o count too small", EINVAL},
    {"read or write too large", EINVAL},
    {"read or write too small", EINVAL},
    {"out of memory", ENOMEM},
    {"phase error -- file entry not found", ENOENT},
};

// Words that show the errno of a text that is not listed. The first entry that occurs in the text counts.
constexpr std::pair<const char*, int> kPhrases[] = {
    {"not empty", ENOTEMPTY}, {"not found", ENOENT},  {"not exist", ENOENT},       {"nonexist", ENOENT},
    {"no such", ENOENT},      {"exists", EEXIST},     {"not a dir", ENOTDIR},      {"non-dir", ENOTDIR},
    {"is a dir", EISDIR},     {"read only", EROFS},   {"read-only", EROFS},        {"too long", ENAMETOOLONG},
    {"no space", ENOSPC},     {"is full", ENOSPC},    {"quota", EDQUOT},           {"permission", EACCES},
    {"denied", EACCES},       {"prohibited", EACCES}, {"not allowed", EACCES},     {"forbidden", EACCES},
    {"in use", EBUSY},        {"busy", EBUSY},        {"unsupported", EOPNOTSUPP}, {"not support", EOPNOTSUPP},
};

// Returns the text in lower case, with one blank between words and without a full stop.
std::string plain_words(std::string_view text) {
  std::string s;
  for (const char c : text) {
    const bool blank = isspace(uint8_t(c));
    if (!blank || (!s.empty() && s.back() != ' ')) s += blank ? ' ' : char(tolower(uint8_t(c)));
  }
  while (!s.empty() && strchr(" .!", s.back())) s.pop_back();
  return s;
}

std::unordered_map<std::string, int> texts() {
  std::unordered_map<std::string, int> map;
  for (int e = 1; e < 134; ++e)
    if (const char* text = strerrordesc_np(e)) map.emplace(plain_words(text), e);
  for (const auto& [text, e] : kPlan9Texts) map.emplace(text, e);
  return map;
}

}  // namespace

std::optional<int> error_number(std::string_view text) {
  static const std::unordered_map<std::string, int> known = texts();
  const std::string wanted = plain_words(text);
  if (auto found = known.find(wanted); found != known.end()) return found->second;
  // Rust's standard library appends the number.
  if (size_t at = wanted.find(" (os error "); at != std::string::npos) {
    int e = atoi(wanted.c_str() + at + 11);
    if (e > 0 && e < 134) return e;
  }
  // "'name': text", as in Go's library, and "text: 'name'" are usual.
  for (const auto& [known_text, e] : known)
    if (known_text.size() > 8 && (wanted.ends_with(": " + known_text) || wanted.starts_with(known_text + ":"))) return e;
  for (const auto& [words, e] : kPhrases)
    if (wanted.find(words) != std::string::npos) return e;
  return std::nullopt;
}

int likely_error(Type type) {
  switch (type) {
    case Type::walk:
      return ENOENT;
    case Type::open:
    case Type::create:
    case Type::remove:
      return EACCES;
    case Type::wstat:
      return EPERM;
    default:
      return EIO;
  }
}

}  // namespace fsr::ninep
