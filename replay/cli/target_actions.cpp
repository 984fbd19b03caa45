// SPDX-License-Identifier: Apache-2.0
#include "cli/target_actions.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include "util/units.hpp"

namespace fsr {

namespace {

constexpr size_t kTransfer = 1 << 20;   // bytes of one read or write
constexpr uint64_t kListing = 1 << 16;  // bytes of entries that one readdir asks for

std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    size_t end = std::min(path.find('/', at), path.size());
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  for (const std::string& part : parts)
    if (!valid_component(part))
      throw std::runtime_error(escape_text(path) + ": '" + escape_text(part) + "': expected a name of a file or directory");
  return parts;
}

char type_letter(uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return 'd';
    case S_IFLNK:
      return 'l';
    case S_IFCHR:
      return 'c';
    case S_IFBLK:
      return 'b';
    case S_IFIFO:
      return 'p';
    case S_IFSOCK:
      return 's';
    default:
      return '-';
  }
}

// Returns type and permissions in the format of ls(1).
std::string mode_text(uint32_t mode) {
  std::string text(1, type_letter(mode));
  for (int bit = 8; bit >= 0; --bit) text += mode & (1u << bit) ? "xwr"[bit % 3] : '-';
  constexpr struct {
    uint32_t bit;
    size_t at;
    char with, without;
  } kSpecial[] = {{S_ISUID, 3, 's', 'S'}, {S_ISGID, 6, 's', 'S'}, {S_ISVTX, 9, 't', 'T'}};
  for (const auto& s : kSpecial)
    if (mode & s.bit) text[s.at] = text[s.at] == 'x' ? s.with : s.without;
  return text;
}

std::string time_text(int64_t ns) {
  int64_t seconds = ns / 1'000'000'000 - (ns % 1'000'000'000 < 0);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(time_t(seconds)));
}

}  // namespace

const Outcome& TargetActions::perform(const std::string& path, const Op& op, std::string_view payload) {
  const std::string where = path.empty() ? target_.name() : target_.name() + ": " + escape_text(path);
  if (target_.fidelity(op) == Fidelity::impossible)
    throw std::runtime_error(fmt::format("{}: this kind of target can't do {}", where, op_name(op.kind)));
  Op by_hand = op;
  by_hand.op_flags |= kOpUnfinished;  // because there is no recorded outcome
  by_hand.uid = geteuid();
  by_hand.gid = getegid();
  const Outcome& outcome = session_.perform(by_hand, payload);
  if (outcome.error) throw std::system_error(outcome.error, std::generic_category(), where);
  return outcome;
}

TargetActions::Found TargetActions::find(const std::string& path) {
  std::vector<std::string> parts = components(path);
  if (parts.empty()) return {kRootObject, perform(path, {.kind = OpKind::getattr, .object = kRootObject}).attr};
  return walk(path, parts);
}

TargetActions::Found TargetActions::walk(const std::string& path, std::span<const std::string> parts) {
  Found found{kRootObject, {}};
  for (const std::string& part : parts) {
    ObjectId id = next_++;
    found = {id, perform(path, {.kind = OpKind::lookup, .object = id, .parent = found.object, .name = part}).attr};
  }
  return found;
}

TargetActions::NameInDirectory TargetActions::spot(const std::string& path) {
  std::vector<std::string> parts = components(path);
  if (parts.empty()) throw std::runtime_error(target_.name() + ": expected a path below the root");
  return {walk(path, std::span(parts).first(parts.size() - 1)).object, parts.back()};
}

std::string TargetActions::link_target(const std::string& path, const Found& found) {
  if (!S_ISLNK(found.attr.mode)) return {};
  return std::string(perform(path, {.kind = OpKind::readlink, .object = found.object}).data);
}

void TargetActions::print_entry(const Attr& attr, std::string_view name, std::string_view link) {
  fmt::print("{} {:>3} {:>5} {:>5} {:>12} {} {}{}{}\n", mode_text(attr.mode), attr.nlink, attr.uid, attr.gid, attr.size,
             time_text(attr.mtime), escape_text(name), link.empty() ? "" : " -> ", escape_text(link));
}

void TargetActions::stat(const std::string& path) {
  if (components(path).empty()) {
    const OpMapping* mapping = target_.mapping();
    Space space = target_.space();
    fmt::print("{}: {}", target_.name(), mapping ? mapping->name : "connected");
    if (space.total) fmt::print(", {} of {} free", format_size(space.free), format_size(space.total));
    fmt::print("\n");
    if (target_.fidelity({.kind = OpKind::getattr}) == Fidelity::impossible) return;  // the target has no names
  }
  Found found = find(path);
  print_entry(found.attr, path.empty() ? "/" : path, link_target(path, found));
}

void TargetActions::list(const std::string& path) {
  Found top = find(path);
  if (!S_ISDIR(top.attr.mode)) return print_entry(top.attr, path, link_target(path, top));
  HandleId handle = next_++;
  perform(path, {.kind = OpKind::opendir, .open_flags = O_RDONLY | O_DIRECTORY, .object = top.object, .handle = handle});
  uint64_t seen = 0;  // number of entries seen; the target does not know this cursor, so it goes on where the last readdir ended
  for (;;) {
    Op read{.kind = OpKind::readdir, .object = top.object, .handle = handle, .offset = seen, .length = kListing};
    std::vector<std::string> names;
    for (const DirEntry& entry : perform(path, read).entries) names.emplace_back(entry.name);
    if (names.empty()) break;
    seen += names.size();
    for (const std::string& name : names) {
      if (!valid_component(name)) continue;  // "." and ".."
      Found entry{next_++, {}};
      try {
        entry.attr = perform(name, {.kind = OpKind::lookup, .object = entry.object, .parent = top.object, .name = name}).attr;
        print_entry(entry.attr, name, link_target(name, entry));
      } catch (const std::system_error& e) {
        if (e.code().value() != ENOENT) throw;  // an entry may be removed after it was listed
      }
    }
  }
  perform(path, {.kind = OpKind::releasedir, .object = top.object, .handle = handle});
}

void TargetActions::print(const std::string& path) {
  Found file = find(path);
  if (S_ISDIR(file.attr.mode))
    throw std::system_error(EISDIR, std::generic_category(), target_.name() + ": " + escape_text(path));
  HandleId handle = next_++;
  perform(path, {.kind = OpKind::open, .open_flags = O_RDONLY, .object = file.object, .handle = handle});
  for (uint64_t offset = 0;;) {
    std::string_view data =
        perform(path, {.kind = OpKind::read, .object = file.object, .handle = handle, .offset = offset, .length = kTransfer})
            .data;
    if (data.empty()) break;
    if (fwrite(data.data(), 1, data.size(), stdout) != data.size())
      throw std::system_error(errno, std::generic_category(), "standard output");
    offset += data.size();
  }
  perform(path, {.kind = OpKind::release, .object = file.object, .handle = handle});
}

void TargetActions::upload(const std::string& path, const NameInDirectory& at, ObjectId object, int fd) {
  HandleId handle = next_++;
  perform(path, {.kind = OpKind::create,
                 .mode = S_IFREG | 0644,
                 .open_flags = O_WRONLY | O_CREAT | O_EXCL,
                 .object = object,
                 .parent = at.parent,
                 .handle = handle,
                 .name = at.name});
  std::vector<char> buffer(kTransfer);
  for (uint64_t offset = 0;;) {
    ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::system_error(errno, std::generic_category(), "input");
    if (n == 0) break;
    for (std::string_view left(buffer.data(), size_t(n)); !left.empty();) {
      Op write{.kind = OpKind::write, .object = object, .handle = handle, .offset = offset, .length = left.size()};
      uint64_t written = perform(path, write, left).result;
      if (written == 0) throw std::runtime_error(target_.name() + ": " + escape_text(path) + ": a write returned 0 bytes");
      offset += written;
      left.remove_prefix(std::min<uint64_t>(written, left.size()));
    }
  }
  perform(path, {.kind = OpKind::fsync, .object = object, .handle = handle});
  perform(path, {.kind = OpKind::release, .object = object, .handle = handle});
}

void TargetActions::put(const std::string& path, int fd) {
  NameInDirectory whole = spot(path), part{whole.parent, fmt::format(".fsreplay-put.{}", getpid())};
  ObjectId object = next_++;
  try {
    upload(path, part, object, fd);
    perform(path, {.kind = OpKind::rename,
                   .object = object,
                   .parent = part.parent,
                   .parent2 = whole.parent,
                   .name = part.name,
                   .name2 = whole.name});
  } catch (...) {
    session_.perform({.kind = OpKind::unlink, .object = object, .parent = part.parent, .name = part.name});
    throw;
  }
}

void TargetActions::make_directory(const std::string& path) {
  NameInDirectory at = spot(path);
  perform(path, {.kind = OpKind::mkdir, .mode = 0755, .object = next_++, .parent = at.parent, .name = at.name});
}

void TargetActions::remove(const std::string& path) {
  NameInDirectory at = spot(path);
  Found found = find(path);
  OpKind kind = S_ISDIR(found.attr.mode) ? OpKind::rmdir : OpKind::unlink;
  perform(path, {.kind = kind, .object = found.object, .parent = at.parent, .name = at.name});
}

void TargetActions::move(const std::string& from, const std::string& to) {
  NameInDirectory old_place = spot(from), new_place = spot(to);
  Found found = find(from);
  perform(from, {.kind = OpKind::rename,
                 .object = found.object,
                 .parent = old_place.parent,
                 .parent2 = new_place.parent,
                 .name = old_place.name,
                 .name2 = new_place.name});
}

}  // namespace fsr
