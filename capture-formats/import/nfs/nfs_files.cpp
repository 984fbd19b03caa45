// SPDX-License-Identifier: Apache-2.0
#include "nfs_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "nfs/access.hpp"
#include "trace/model.hpp"

namespace fsr::capture {

uint32_t access_mode(uint32_t bits) {
  return (bits & nfs::kAccessRead ? R_OK : 0) |
         (bits & (nfs::kAccessModify | nfs::kAccessExtend | nfs::kAccessDelete) ? W_OK : 0) |
         (bits & (nfs::kAccessLookup | nfs::kAccessExecute) ? X_OK : 0);
}

void NfsFiles::root(std::string_view handle) { objects_.try_emplace(std::string(handle), kRootObject); }

ObjectId NfsFiles::object(std::string_view handle) {
  if (handle.empty()) return kNoObject;
  auto [it, news] = objects_.try_emplace(std::string(handle), next_object_);
  next_object_ += news;
  return it->second;
}

ObjectId NfsFiles::made(std::string_view handle) {
  if (!handle.empty()) return object(handle);
  without_handle_.insert(next_object_);
  return next_object_++;
}

ObjectId NfsFiles::found(std::string_view handle, ObjectId parent, std::string_view name) {
  const ObjectId known = named(parent, name);
  if (!known || (!handle.empty() && !without_handle_.contains(known))) return made(handle);
  if (!handle.empty() && objects_.try_emplace(std::string(handle), known).second) without_handle_.erase(known);
  return handle.empty() ? known : object(handle);
}

ObjectId NfsFiles::named(ObjectId parent, std::string_view name) const {
  const auto it = names_.find({parent, std::string(name)});
  return it == names_.end() ? kNoObject : it->second;
}

void NfsFiles::infer(Op* op) const {
  switch (op->kind) {
    case OpKind::create:
      if (op->open_flags & O_EXCL)
        op->op_flags |= kOpCreated;
      else if (!named(op->parent, op->name))
        op->op_flags |= kOpInferred | kOpCreated;
      return;
    case OpKind::rename:
      op->object2 = named(op->parent2, op->name2);
      [[fallthrough]];
    case OpKind::unlink:
    case OpKind::rmdir:
      op->object = named(op->parent, op->name);
      return;
    default:
      return;
  }
}

bool NfsFiles::names_fit(const Op& op) {
  const uint16_t traits = kind_traits(op.kind);
  auto fits = [&](ObjectId parent, std::string_view name) {
    if (parent && valid_component(name)) return true;
    // "." and ".." are files that are known already.
    sink_.note(name == "." || name == ".." ? ImportNotes::ignored : ImportNotes::lost, "names that can't be names of files", 1);
    return false;
  };
  return (!(traits & kHasName) || fits(op.parent, op.name)) && (!(traits & kHasName2) || fits(op.parent2, op.name2));
}

void NfsFiles::add(int32_t client, Op op, bool listing_ends) {
  if (!names_fit(op)) return;
  lanes_.assign(op, client, "nfs");
  if (op.end() >= last_.end()) last_ = {.start = op.start, .duration = op.duration, .thread = op.thread, .who = op.who};
  if (op.kind == OpKind::readdir || op.kind == OpKind::readdirplus) return add_listing(op, client, listing_ends);
  sink_.add(op);
  if (!op.error) learn(op);
}

void NfsFiles::learn(const Op& op) {
  for (ObjectId parent : {op.parent, op.parent2})
    if (parent) directories_.insert(parent);
  if (op.kind == OpKind::mkdir || (op.attr && (op.attr->valid & kAttrMode) && S_ISDIR(op.attr->mode)))
    directories_.insert(op.object);
  const std::pair<ObjectId, std::string> name{op.parent, std::string(op.name)}, name2{op.parent2, std::string(op.name2)};
  switch (op.kind) {
    case OpKind::lookup:
    case OpKind::create:
    case OpKind::mkdir:
    case OpKind::symlink:
    case OpKind::mknod:
      if (op.object) names_[name] = op.object;
      return;
    case OpKind::unlink:
    case OpKind::rmdir:
      names_.erase(name);
      return;
    case OpKind::link:
      names_[name2] = op.object;
      return;
    case OpKind::rename:
      names_.erase(name);
      if (op.object) names_[name2] = op.object;
      return;
    default:
      return;
  }
}

// NFS lists directories without opening them; other file systems don't. A listing goes from cookie 0 to the end of the directory.
void NfsFiles::add_listing(Op op, int32_t client, bool ends) {
  HandleId& handle = listings_[{client, op.object}];
  Op like{.start = op.start, .kind = OpKind::opendir, .op_flags = kOpInferred, .thread = op.thread, .object = op.object};
  like.who = op.who;
  if (!op.error && op.offset == 0) end_listing(&handle, like);
  if (!op.error && !handle) {
    like.handle = handle = next_handle_++;
    like.open_flags = O_DIRECTORY;
    sink_.add(like);
  }
  op.handle = handle;
  sink_.add(op);
  like.start = op.end();
  if (op.error || ends) end_listing(&handle, like);
  if (!handle) listings_.erase({client, op.object});
}

void NfsFiles::end_listing(HandleId* handle, Op like) {
  if (!*handle) return;
  like.kind = OpKind::releasedir;
  like.open_flags = 0;
  like.handle = std::exchange(*handle, 0);
  sink_.add(like);
}

Op NfsFiles::at_end(ObjectId object) const {
  Op like{.start = last_.end(), .op_flags = kOpInferred, .thread = last_.thread, .object = object};
  like.who = last_.who;
  return like;
}

void NfsFiles::end_open(ObjectId object, HandleId handle) {
  Op op = at_end(object);
  op.kind = OpKind::release;
  op.handle = handle;
  sink_.add(op);
}

void NfsFiles::finish() {
  for (auto& [who, handle] : listings_) end_listing(&handle, at_end(who.second));
}

}  // namespace fsr::capture
