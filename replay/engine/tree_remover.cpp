// SPDX-License-Identifier: Apache-2.0
#include "engine/tree_remover.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "util/units.hpp"

namespace fsr {

namespace {

[[noreturn]] void refuse_mount(Target& target, const std::string& path) {
  throw std::runtime_error(
      fmt::format("{}: {}: a file system is mounted there, and fsreplay changes nothing behind a mount; unmount that file "
                  "system, or name another target",
                  target.name(), escape_text(path)));
}

}  // namespace

void refuse_mounts(Target& target, const Removable& removable) {
  for (const std::string& path : target.mount_points())
    if (removable(std::string_view(path).substr(0, path.find('/')))) refuse_mount(target, path);
}

TreeRemover::TreeRemover(Target& target, BlockingSession& session, ObjectId object, HandleId handle, Removable removable,
                         const std::atomic<int>* stop)
    : target_(target), session_(session), next_(object), handle_(handle), removable_(std::move(removable)), stop_(stop) {}

void TreeRemover::refuse(const std::string& path) const { refuse_mount(target_, path); }

std::vector<std::string> TreeRemover::list(ObjectId directory) {
  std::vector<std::string> names;
  const HandleId handle = handle_++;
  if (session_.perform({.kind = OpKind::opendir, .object = directory, .handle = handle}).error) return names;
  for (uint64_t cursor = 0;;) {
    const Outcome& o =
        session_.perform({.kind = OpKind::readdir, .object = directory, .handle = handle, .offset = cursor, .length = 65536});
    if (o.error || o.entries.empty()) break;
    for (const DirEntry& e : o.entries)
      if (valid_component(e.name)) names.emplace_back(e.name);
    cursor += o.entries.size();
  }
  session_.perform({.kind = OpKind::releasedir, .object = directory, .handle = handle});
  return names;
}

void TreeRemover::take(const Op& op, const std::string& path) {
  if (stop_ && stop_->load() > 1) throw std::runtime_error(target_.name() + ": interrupted before the whole tree was removed");
  const int error = session_.perform(op).error;
  // Hidden names of a network client (EBUSY) and snapshots (EROFS) stay, because they were not made here.
  if (!error || error == ENOENT || error == EBUSY || error == EROFS || failed++ != 0) return;
  first_failed = path;
  first_error = error;
}

void TreeRemover::remove_one(ObjectId parent, const std::string& name, const std::string& path, std::vector<Folder>& folders) {
  const ObjectId object = next_++;
  const Outcome& seen = session_.perform({.kind = OpKind::lookup, .object = object, .parent = parent, .name = name});
  if (seen.error == EXDEV) refuse(path);
  if (seen.error == ENOENT) return;
  if (seen.error || !S_ISDIR(seen.attr.mode))
    return take({.kind = OpKind::unlink, .object = object, .parent = parent, .name = name}, path);
  // The owner of a directory may remove names from it only if its mode grants that.
  const Attr open{.valid = kAttrMode, .mode = 0700};
  if ((seen.attr.mode & 0700) != 0700) session_.perform({.kind = OpKind::setattr, .object = object, .set = &open});
  folders.push_back({object, parent, name, path});
}

void TreeRemover::remove_file(ObjectId object, ObjectId parent, const std::string& name, const std::string& path) {
  take({.kind = OpKind::unlink, .object = object, .parent = parent, .name = name}, path);
}

void TreeRemover::remove(ObjectId parent, const std::string& name, const std::string& path) {
  if (path == kLostAndFound) return;
  std::vector<Folder> folders;
  remove_one(parent, name, path, folders);
  for (size_t i = 0; i < folders.size(); ++i) {
    const Folder in = folders[i];
    for (const std::string& child : list(in.object))
      if (removable_(child)) remove_one(in.object, child, in.path + "/" + child, folders);
  }
  for (size_t i = folders.size(); i-- > 0;)
    take({.kind = OpKind::rmdir, .object = folders[i].object, .parent = folders[i].parent, .name = folders[i].name},
         folders[i].path);
}

}  // namespace fsr
