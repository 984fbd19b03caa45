// SPDX-License-Identifier: Apache-2.0
#include "objects.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <sstream>

#include "util/mountinfo.hpp"

namespace fsr {

int open_here(int dir, const char* name, int flags, uint32_t mode) {
  open_how how{.flags = uint64_t(flags), .mode = mode, .resolve = RESOLVE_NO_XDEV};
  return int(syscall(SYS_openat2, dir, name, &how, sizeof how));
}

// Names files by paths only on a mounted 9P. Clients of other protocols keep the components of a path in their cache.
FileObjects::FileObjects(UniqueFd root, size_t cached, PathNaming by_path)
    : start_(std::make_shared<UniqueFd>(std::move(root))), capacity_(std::max<size_t>(cached, 16)) {
  if (by_path == PathNaming::none) return;
  const auto mount = mount_of(start_->get());
  if (!mount || mount->type != "9p") return;
  if (by_path == PathNaming::absolute)
    begin_at_mount_point(mount->point);
  else
    by_path_ = PathNaming::relative;
}

void FileObjects::begin_at_mount_point(const std::string& mount_point) {
  char text[PATH_MAX];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(start_->get())).c_str(), text, sizeof text);
  if (size < 0) return;
  const std::string path(text, size_t(size));
  if (!path.starts_with(mount_point)) return;
  UniqueFd point(::open(mount_point.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!point) return;
  by_path_ = PathNaming::absolute;
  start_ = std::make_shared<UniqueFd>(std::move(point));
  std::istringstream rest(path.substr(mount_point.size()));
  for (std::string name; std::getline(rest, name, '/');)
    if (!name.empty()) to_root_.push_back(name);
}

SharedFd FileObjects::current_directory(ObjectId id) {
  if (by_path_ != PathNaming::relative) return nullptr;
  std::lock_guard lock(cache_mutex_);
  if (open_directories_.empty() || open_directories_.back()->object != id) return nullptr;
  const OpenRef& open = open_directories_.back();
  return {open, &open->fd};
}

SharedFd FileObjects::cached(ObjectId id) {
  std::lock_guard lock(cache_mutex_);
  if (!recent_.empty() && recent_.front().first == id) return recent_.front().second;
  auto it = cache_.find(id);
  if (it == cache_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, it->second);
  return it->second->second;
}

void FileObjects::cache(ObjectId id, SharedFd fd) {
  std::lock_guard lock(cache_mutex_);
  if (cache_.contains(id)) return;
  recent_.emplace_front(id, std::move(fd));
  cache_[id] = recent_.begin();
  if (recent_.size() > capacity_) {
    cache_.erase(recent_.back().first);
    recent_.pop_back();
  }
}

int FileObjects::directory(ObjectId id, SharedFd* fd) {
  // Ascend to the nearest directory that has a descriptor, then descend from it.
  std::vector<std::pair<ObjectId, std::string>> path;
  bool in_root = false;
  constexpr size_t kDeepest = 4096;  // levels; also ends the ascent if the names of a hostile trace form a circle
  for (ObjectId at = id;;) {
    if (at == kRootObject) {
      *fd = start_;
      in_root = true;
      for (auto name = to_root_.rbegin(); name != to_root_.rend(); ++name) path.emplace_back(kNoObject, *name);
      break;
    }
    if ((*fd = current_directory(at)) || (*fd = cached(at))) break;
    Name name;
    OpenRef open;
    uint32_t type = 0;
    if (!nodes_.visit(at, [&](Node& node) { name = node.first, open = node.open_if_unnamed(), type = node.type; })) return ESTALE;
    if (type && !S_ISDIR(type)) return ENOTDIR;
    if (name.parent == kNoObject) {
      if (!open) return ESTALE;
      *fd = std::shared_ptr<const UniqueFd>(open, &open->fd);
      break;
    }
    if (path.size() == kDeepest) return ELOOP;
    path.emplace_back(at, std::move(name.name));
    at = name.parent;
  }
  for (; !path.empty(); path.pop_back()) {
    int next = open_here((*fd)->get(), path.back().second.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) return errno;
    *fd = std::make_shared<UniqueFd>(next);
    if (by_path_ == PathNaming::none || (by_path_ == PathNaming::relative && in_root)) cache(path.back().first, *fd);
    in_root = false;
  }
  return 0;
}

int FileObjects::directory(ObjectId id, LatestDirectory& latest, PathAt* at) {
  if (by_path_ != PathNaming::none) return directory(id, &at->dir);
  if (!has(latest, id))
    if (int error = renew(latest, id)) return error;
  at->lent = latest.fd->get();
  return 0;
}

int FileObjects::renew(LatestDirectory& latest, ObjectId id) {
  latest = {.generation = generation_.load(std::memory_order_relaxed)};
  SharedFd fd;
  if (int error = directory(id, &fd)) return error;
  latest.fd = std::move(fd);
  latest.id = id;
  return 0;
}

int FileObjects::path_at(ObjectId id, PathAt* at) {
  if (id == kRootObject) return at->type = S_IFDIR, directory(id, &at->dir);
  ObjectId parent = kNoObject;
  const bool known = nodes_.visit(id, [&](Node& node) {
    parent = node.first.parent;
    at->name = node.first.name;
    at->open = node.open_if_unnamed();
    at->type = node.type;
  });
  // Only directories are in the cache, perhaps some that were removed.
  if (!known || at->type == 0 || S_ISDIR(at->type))
    if (SharedFd fd = cached(id)) {
      at->dir = std::move(fd);
      at->open = nullptr;
      at->name = "";
      at->type = S_IFDIR;
      return 0;
    }
  if (parent == kNoObject) return at->open ? 0 : ESTALE;
  return directory(parent, &at->dir);
}

int FileObjects::opened(HandleId id, OpenRef* open) { return opens_.get(id, open) ? 0 : EBADF; }

OpenRef FileObjects::any_open(ObjectId id) {
  OpenRef open;
  nodes_.visit(id, [&](Node& node) {
    if (node.opens) open = node.opens->shared_from_this();
  });
  return open;
}

int FileObjects::subject(const Op& op, PathAt* at) {
  if (op.handle && opened(op.handle, &at->open) == 0) return 0;
  if (op.handle && !op.object) return EBADF;
  return path_at(op.object, at);
}

void FileObjects::add_name(Node& node, ObjectId parent, std::string_view name) {
  if (!node.named()) {
    node.first = {parent, std::string(name)};
  } else if (!node.first.is(parent, name)) {
    if (!node.others) node.others = std::make_unique<std::vector<Name>>();
    std::vector<Name>& others = *node.others;
    const bool known = std::any_of(others.begin(), others.end(), [&](const Name& other) { return other.is(parent, name); });
    if (!known && others.size() < kMostNames) others.push_back({parent, std::string(name)});
  }
}

void FileObjects::remove_name(Node& node, ObjectId parent, std::string_view name) {
  if (node.others) std::erase_if(*node.others, [&](const Name& other) { return other.is(parent, name); });
  if (!node.first.is(parent, name)) return;
  node.first = {};
  if (node.others && !node.others->empty()) {
    node.first = std::move(node.others->back());
    node.others->pop_back();
  }
  if (node.others && node.others->empty()) node.others.reset();
}

void FileObjects::map_id(ObjectId id, ObjectId parent, std::string_view name, uint32_t type) {
  if (id == kNoObject || id == kRootObject) return;
  nodes_.update(id, [&](Node& node) {
    if (type) node.type = type;
    add_name(node, parent, name);
  });
}

void FileObjects::remade(ObjectId id) {
  if (!nodes_.visit(id, [](Node&) {})) return;
  std::lock_guard lock(cache_mutex_);
  if (const auto it = cache_.find(id); it != cache_.end()) {
    recent_.erase(it->second);
    cache_.erase(it);
  }
  generation_.fetch_add(1, std::memory_order_relaxed);
}

void FileObjects::map_unnamed(ObjectId id, uint32_t type) {
  if (id == kNoObject || id == kRootObject) return;
  nodes_.update(id, [&](Node& node) { node.type = type; });
}

void FileObjects::forget_name(ObjectId id, ObjectId parent, std::string_view name) {
  if (id == kNoObject) return;
  nodes_.erase_if(id, [&](Node& node) {
    remove_name(node, parent, name);
    return !node.named() && !node.opens;
  });
}

void FileObjects::renamed(const Op& op) {
  if (op.object && op.object == op.object2) return;  // two links of one file: rename(2) does nothing
  if (op.object2) {
    constexpr uint32_t kExchange = 2;  // RENAME_EXCHANGE
    if (op.flags & kExchange)
      nodes_.visit(op.object2, [&](Node& node) {
        remove_name(node, op.parent2, op.name2);
        add_name(node, op.parent, op.name);
      });
    else
      forget_name(op.object2, op.parent2, op.name2);
  }
  if (op.object)
    nodes_.update(op.object, [&](Node& node) {
      remove_name(node, op.parent, op.name);
      add_name(node, op.parent2, op.name2);
    });
}

void FileObjects::add_open(HandleId handle, OpenRef open) {
  if (open->object)
    nodes_.update(open->object, [&](Node& node) {
      open->next = node.opens;
      node.opens = open.get();
    });
  opens_.update(handle, [&](OpenRef& there) { there.swap(open); });
  if (open) unlink(*open);  // the trace opens a handle twice
}

void FileObjects::enter(OpenRef directory) {
  if (by_path_ != PathNaming::relative) return;
  std::lock_guard lock(cache_mutex_);
  open_directories_.push_back(std::move(directory));
}

bool FileObjects::leave(ObjectId directory) {
  if (by_path_ != PathNaming::relative) return false;
  std::lock_guard lock(cache_mutex_);
  if (auto it = cache_.find(directory); it != cache_.end()) {
    recent_.erase(it->second);
    cache_.erase(it);
  }
  return true;
}

bool FileObjects::unlink(OpenFile& open) {
  bool last = true;
  if (!open.object) return last;
  nodes_.erase_if(open.object, [&](Node& node) {
    OpenFile** at = &node.opens;
    while (*at && *at != &open) at = &(*at)->next;
    if (*at) *at = open.next;
    last = !node.opens;
    return last && !node.named();
  });
  return last;
}

OpenRef FileObjects::remove_open(HandleId handle, bool* last) {
  OpenRef open;
  opens_.erase(handle, &open);
  *last = !open || unlink(*open);
  if (by_path_ == PathNaming::relative) {
    std::lock_guard lock(cache_mutex_);
    std::erase(open_directories_, open);
  }
  return open;
}

}  // namespace fsr
