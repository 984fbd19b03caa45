// SPDX-License-Identifier: Apache-2.0
#include "pseudonyms.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace fsr {

namespace {

constexpr size_t kShort = 5;         // names of up to so many bytes look alike
constexpr size_t kRecent = 1 << 16;  // names kept at hand
constexpr unsigned kBytes = 256;     // radix of names of any bytes
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Characters of names, and what stands for them in pseudonyms: no dot, which begins the extension.
struct Alphabet {
  char long_name, short_name;
  std::string_view in, out;
  unsigned radix() const { return unsigned(in.size()); }
};
constexpr Alphabet kAlphabets[] = {
    {'h', 'H', "0123456789abcdef", "0123456789abcdef"},
    {'k', 'K', "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456789"},
    {'m', 'M', "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.",
     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~"},
};
constexpr const Alphabet& kWord = kAlphabets[2];

// Extensions that say what a file is for, and nothing about its owner.
constexpr std::string_view kExtensions[] = {
    "7z",   "a",    "avi",  "awk",   "bak",  "bash", "bin",  "bmp",  "bz2",    "c",   "cc",   "cfg",  "class", "cmake",
    "conf", "cpp",  "crt",  "css",   "csv",  "cxx",  "d",    "dat",  "db",     "deb", "diff", "dll",  "doc",   "docx",
    "exe",  "flac", "gif",  "go",    "gz",   "h",    "hpp",  "htm",  "html",   "ibd", "ico",  "idx",  "img",   "in",
    "ini",  "iso",  "jar",  "java",  "jpeg", "jpg",  "js",   "json", "key",    "ko",  "la",   "lock", "log",   "lst",
    "lua",  "lz4",  "m4",   "md",    "mkv",  "mod",  "mov",  "mp3",  "mp4",    "myd", "myi",  "o",    "odt",   "ogg",
    "old",  "orig", "pack", "patch", "pdf",  "pem",  "php",  "pid",  "pl",     "pm",  "png",  "po",   "ppt",   "pptx",
    "py",   "pyc",  "rb",   "rej",   "rev",  "rpm",  "rs",   "rst",  "sample", "sh",  "so",   "sock", "sql",   "sqlite",
    "svg",  "swp",  "tar",  "tex",   "tgz",  "tif",  "tiff", "tmp",  "toml",   "ts",  "txt",  "wal",  "wav",   "webm",
    "webp", "xls",  "xlsx", "xml",   "xz",   "yaml", "yml",  "zip",  "zst"};

// Attributes that the kernel gives a meaning to, and its namespaces (xattr(7)); other names with a dot are not the kernel's.
constexpr std::string_view kSystemXattrs[] = {
    "security.capability",     "security.evm", "security.ima", "security.selinux", "system.posix_acl_access",
    "system.posix_acl_default"};
constexpr std::string_view kNamespaces[] = {"security.", "system.", "trusted.", "user."};

size_t digit(std::string_view alphabet, char c) { return alphabet.find(c); }

bool consists_of(std::string_view text, std::string_view alphabet) {
  return text.find_first_not_of(alphabet) == std::string_view::npos;
}

// Groups of six bits, the first the highest.
std::string base64(std::span<const uint8_t> bytes) {
  std::string out;
  uint32_t bits = 0, held = 0;
  for (uint8_t b : bytes) {
    held = held << 8 | b;
    for (bits += 8; bits >= 6; bits -= 6) out += kBase64[held >> (bits - 6) & 63];
  }
  if (bits) out += kBase64[held << (6 - bits) & 63];
  return out;
}

[[noreturn]] void no_pseudonym() { throw std::runtime_error("contains a name that is not a pseudonym"); }

std::vector<uint8_t> from_base64(std::string_view text) {
  std::vector<uint8_t> out;
  uint32_t bits = 0, held = 0;
  for (char c : text) {
    const size_t d = digit(kBase64, c);
    if (d == std::string_view::npos) no_pseudonym();
    held = held << 6 | uint32_t(d);
    if ((bits += 6) >= 8) out.push_back(uint8_t(held >> (bits -= 8)));
  }
  return out;
}

std::vector<uint8_t> digits_of(std::string_view text, std::string_view alphabet) {
  std::vector<uint8_t> out;
  for (char c : text) {
    const size_t d = digit(alphabet, c);
    if (d == std::string_view::npos) no_pseudonym();
    out.push_back(uint8_t(d));
  }
  return out;
}

std::string text_of(std::span<const uint8_t> digits, std::string_view alphabet) {
  std::string out;
  for (uint8_t d : digits) out += alphabet[d];
  return out;
}

// A short name as kShort + 1 digits: read as a number to the base of radix + 1, where 0 ends it.
std::vector<uint8_t> pack_short(std::string_view name, const Alphabet& a) {
  uint64_t value = 0;
  for (size_t i = 0; i < kShort; ++i) value = value * (a.radix() + 1) + (i < name.size() ? digit(a.in, name[i]) + 1 : 0);
  std::vector<uint8_t> out(kShort + 1);
  for (uint8_t& d : out) {
    d = uint8_t(value % a.radix());
    value /= a.radix();
  }
  return out;
}

std::string unpack_short(std::span<const uint8_t> digits, const Alphabet& a) {
  uint64_t value = 0;
  for (size_t i = digits.size(); i-- > 0;) value = value * a.radix() + digits[i];
  std::string out(kShort, '\0');
  for (size_t i = kShort; i-- > 0;) {
    const uint64_t d = value % (a.radix() + 1);
    value /= a.radix() + 1;
    if (d) out[i] = a.in[d - 1];
  }
  out.resize(strlen(out.c_str()));
  return out;
}

}  // namespace

bool common_extension(std::string_view extension) {
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) != std::end(kExtensions);
}

size_t plain_xattr(std::string_view name) {
  if (std::find(std::begin(kSystemXattrs), std::end(kSystemXattrs), name) != std::end(kSystemXattrs)) return name.size();
  for (std::string_view space : kNamespaces)
    if (name.starts_with(space)) return space.size();
  return 0;
}

Pseudonyms::Pseudonyms(std::string_view key, bool back) : keyed_(key), back_(back) {}

void Pseudonyms::permute(std::span<uint8_t> digits, unsigned radix, std::string_view tweak) {
  if (back_)
    keyed_.decrypt(digits, radix, tweak);
  else
    keyed_.encrypt(digits, radix, tweak);
}

uint64_t Pseudonyms::permute_number(uint64_t value, unsigned bits, std::string_view tweak) {
  return back_ ? keyed_.decrypt_number(value, bits, tweak) : keyed_.encrypt_number(value, bits, tweak);
}

std::string Pseudonyms::hashed_name(std::string_view name, size_t size) {
  ++hashed_;
  std::vector<uint8_t> hash(16);
  keyed_.derive(hash, "hash", name);
  std::string out = "z" + base64(hash);
  out.resize(std::max(out.size(), size), '0');
  return out;
}

std::string Pseudonyms::stem(std::string_view name, size_t limit) {
  const bool is_short = name.size() <= kShort;
  for (const Alphabet& a : kAlphabets) {
    if (!consists_of(name, a.in)) continue;
    if (name.size() >= limit && !is_short) return hashed_name(name, limit);
    std::vector<uint8_t> digits = is_short ? pack_short(name, a) : digits_of(name, a.in);
    permute(digits, a.radix(), "name");
    return (is_short ? a.short_name : a.long_name) + text_of(digits, a.out);
  }
  std::vector<uint8_t> bytes(name.begin(), name.end());
  if (is_short) bytes.resize(kShort);
  if (1 + (bytes.size() * 4 + 2) / 3 > limit) return hashed_name(name, std::min(limit, name.size()));
  permute(bytes, kBytes, "name");
  return (is_short ? 'X' : 'x') + base64(bytes);
}

std::string Pseudonyms::stem_back(std::string_view pseudonym) {
  const char kind = pseudonym.empty() ? 0 : pseudonym[0];
  const std::string_view rest = pseudonym.substr(std::min<size_t>(1, pseudonym.size()));
  if (kind == 'z') {
    ++hashed_;
    return std::string(pseudonym);
  }
  if (kind == 'x' || kind == 'X') {
    std::vector<uint8_t> bytes = from_base64(rest);
    if (bytes.size() < kShort) no_pseudonym();
    permute(bytes, kBytes, "name");
    std::string out(bytes.begin(), bytes.end());
    if (kind == 'X') out.resize(strlen(out.c_str()));
    return out;
  }
  for (const Alphabet& a : kAlphabets) {
    if (kind != a.long_name && kind != a.short_name) continue;
    std::vector<uint8_t> digits = digits_of(rest, a.out);
    if (digits.size() <= kShort) no_pseudonym();
    permute(digits, a.radix(), "name");
    return kind == a.short_name ? unpack_short(digits, a) : text_of(digits, a.in);
  }
  no_pseudonym();
}

std::string Pseudonyms::name(std::string_view name, size_t limit) {
  if (name.empty() || name == "." || name == "..") return std::string(name);
  if (auto found = names_.find(std::string(name)); found != names_.end()) return found->second;
  const size_t dot = name.rfind('.');
  const bool keeps = dot != std::string_view::npos && dot > 0 && common_extension(name.substr(dot + 1));
  const std::string_view extension = keeps ? name.substr(dot) : std::string_view();
  const std::string_view first = name.substr(0, name.size() - extension.size());
  // A name that is too long for any file system stays too long.
  if (name.size() > 255) limit = 4096;
  std::string out = (back_ ? stem_back(first) : stem(first, limit - extension.size())) + std::string(extension);
  if (back_ && out.find_first_of(std::string_view("/\0", 2)) != std::string::npos) no_pseudonym();
  if (names_.size() > kRecent) names_.clear();
  return names_[std::string(name)] = out;
}

std::string Pseudonyms::path(std::string_view path) {
  std::string out;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    out += name(path.substr(at, end - at));
    if (end < path.size()) out += '/';
    at = end + 1;
  }
  return out;
}

std::string Pseudonyms::words(std::string_view text) {
  constexpr std::string_view kBorders = " \t\n/:,;=()[]{}<>|&\"'`$*?!@#%^\\+";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(kBorders, at), text.size());
    out += name(text.substr(at, end - at));
    if (end < text.size()) out += text[end];
    at = end + 1;
  }
  return out;
}

std::string Pseudonyms::xattr(std::string_view name) {
  const size_t begin = plain_xattr(name);
  const std::string_view rest = name.substr(begin);
  if (rest.empty()) return std::string(name);
  const std::string space(name.substr(0, begin));
  if (back_ && rest.size() < 4) no_pseudonym();
  // A "~" in front of what had to become longer: the others don't begin with one.
  if (back_ && rest[0] == '~') return space + stem_back(rest.substr(1));
  if (!back_ && (rest.size() < 4 || rest[0] == '.' || !consists_of(rest, kWord.in))) return space + "~" + stem(rest, 254 - begin);
  std::vector<uint8_t> digits = digits_of(rest, back_ ? kWord.out : kWord.in);
  // Names whose first digit would be written as "~" are passed over, both ways; one that begins with a dot is no plain name.
  do permute(digits, kWord.radix(), "xattr");
  while (kWord.out[digits[0]] == '~');
  return space + text_of(digits, back_ ? kWord.in : kWord.out);
}

std::string Pseudonyms::value(std::string_view bytes) {
  std::vector<uint8_t> digits(bytes.begin(), bytes.end());
  if (digits.size() == 1) digits[0] = uint8_t(permute_number(digits[0], 8, "value"));
  if (digits.size() > 1) permute(digits, kBytes, "value");
  return {digits.begin(), digits.end()};
}

uint32_t Pseudonyms::user(uint32_t id) {
  constexpr uint32_t kNobody = 65534, kNone16 = 65535;
  if (id == 0 || id == kNobody || id == kNone16 || id == UINT32_MAX) return id;
  auto [found, fresh] = users_.try_emplace(id, id);
  uint32_t& to = found->second;
  if (fresh && id <= kNone16) {
    do to = uint32_t(permute_number(to, 16, "user"));
    while (to == 0 || to == kNobody || to == kNone16);
  } else if (fresh) {
    do to = uint32_t(permute_number(to, 32, "user"));
    while (to <= kNone16 || to == UINT32_MAX);
  }
  return to;
}

int32_t Pseudonyms::process(int32_t pid) {
  constexpr int32_t kMost = 1 << 22;  // of Linux (proc(5), pid_max)
  if (pid <= 0) return pid;
  auto [found, fresh] = processes_.try_emplace(pid, pid);
  uint64_t to = uint64_t(found->second);
  if (fresh && pid < kMost) {
    do to = permute_number(to, 22, "process");
    while (to == 0);
  } else if (fresh) {
    do to = permute_number(to, 32, "process");
    while (to < uint64_t(kMost) || to > uint64_t(INT32_MAX));
  }
  found->second = int32_t(to);
  return int32_t(to);
}

// The kernel scrambles the owners that it gives to FUSE. Importers use the process, as the owner of its POSIX locks.
uint64_t Pseudonyms::owner(uint64_t owner) { return owner <= INT32_MAX ? uint64_t(process(int32_t(owner))) : owner; }

uint64_t Pseudonyms::print(uint64_t hash) {
  if (hash == 0) return 0;
  if (prints_.size() > kRecent) prints_.clear();
  auto [found, fresh] = prints_.try_emplace(hash, hash);
  if (fresh) {
    do found->second = permute_number(found->second, 64, "print");
    while (found->second == 0);
  }
  return found->second;
}

std::string Pseudonyms::key_mark() {
  std::array<uint8_t, 6> mark;
  keyed_.derive(mark, "mark", "");
  return base64(mark);
}

}  // namespace fsr
