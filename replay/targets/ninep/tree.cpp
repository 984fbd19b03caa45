// SPDX-License-Identifier: Apache-2.0
#include "targets/ninep/tree.hpp"

#include <errno.h>
#include <fcntl.h>

#include "targets/ninep/ops.hpp"
#include "targets/ninep/session.hpp"

namespace fsr::ninep {

namespace {

constexpr size_t kMostFids = 1024;  // fids that are kept for later use
constexpr size_t kDeepest = 4096;   // names of a path

}  // namespace

Tree::Tree(NinepClient& client) : KnownTree(".9p"), client_(client) {}

// --- fids of objects ---

FidRef Tree::cached(ObjectId id, uint32_t uid) {
  auto it = by_object_.find({id, uid});
  if (it == by_object_.end()) return nullptr;
  if (!client_.current(it->second->fid) || it->second->fid->epoch < client_.epoch) {
    fids_.erase(it->second);
    by_object_.erase(it);
    return nullptr;
  }
  fids_.splice(fids_.begin(), fids_, it->second);
  return it->second->fid;
}

void Tree::keep(ObjectId id, uint32_t uid, FidRef fid) {
  if (id == kNoObject || id == kRootObject || !client_.current(fid)) return;
  auto [it, added] = by_object_.try_emplace(Key{id, uid});
  if (added) {
    fids_.push_front({{id, uid}, std::move(fid)});
    it->second = fids_.begin();
  } else {
    it->second->fid = std::move(fid);
    fids_.splice(fids_.begin(), fids_, it->second);
  }
  while (fids_.size() > kMostFids) {
    by_object_.erase(fids_.back().key);
    fids_.pop_back();
  }
}

void Tree::forget_paths(ObjectId id) {
  // All fids usually belong to one user. If operations are performed as their recorded users, all fids are searched.
  if (!client_.settings.impersonate) {
    auto it = by_object_.find({id, client_.settings.uid});
    if (it == by_object_.end()) return;
    fids_.erase(it->second);
    by_object_.erase(it);
    return;
  }
  for (auto it = fids_.begin(); it != fids_.end();) {
    auto next = std::next(it);
    if (it->key.object == id) {
      by_object_.erase(it->key);
      fids_.erase(it);
    }
    it = next;
  }
}

Task Tree::walk_to(OpCall& call, ObjectId id, const Object::Name& last, FidRef* found) {
  std::vector<std::string> path{last.name};
  FidRef from;
  for (ObjectId at = last.parent; !from;) {
    if (at == kRootObject) {
      if (int error = co_await client_.root(&call, call.uid, &from)) co_return error;
      break;
    }
    from = cached(at, call.uid);
    if (from) break;
    const Object* o = object(at);
    if (!o || o->names.empty()) co_return ENOENT;
    path.push_back(o->names.back().name);
    at = o->names.back().parent;
    if (path.size() > kDeepest) co_return ELOOP;
  }
  std::vector<std::string_view> names(path.rbegin(), path.rend());
  call.auxiliary();
  if (int error = co_await client_.walk(&call, from, names, found)) co_return error;
  keep(id, call.uid, *found);
  co_return 0;
}

Task Tree::find(OpCall& call, ObjectId id, FidRef* found, bool open_will_do) {
  if (id == kRootObject) co_return co_await client_.root(&call, call.uid, found);
  if ((*found = cached(id, call.uid))) co_return 0;
  const Object* o = object(id);
  if (!o) {
    ++client_.counters.unknown;
    co_return ESTALE;
  }
  if (o->names.empty()) {
    const Open* opened = open_will_do ? open(o->last_open) : nullptr;
    if (!opened || !client_.current(opened->fid)) co_return ENOENT;
    *found = opened->fid;
    co_return 0;
  }
  // Try all names, because an operation that did not name its object may have removed one.
  const std::vector<Object::Name> names = o->names;
  int error = ENOENT;
  for (size_t i = names.size(); i-- > 0 && error == ENOENT;) error = co_await walk_to(call, id, names[i], found);
  co_return error;
}

Task Tree::find_dir(OpCall& call, ObjectId id, FidRef* found) {
  if (int error = co_await find(call, id, found)) co_return error;
  co_return (*found)->qid_type& kQidDir ? 0 : ENOTDIR;
}

Task Tree::find_open(OpCall& call, HandleId handle, Open* found) {
  const Open* known = open(handle);
  if (!known) co_return EBADF;
  *found = *known;
  if (client_.current(found->fid)) co_return 0;
  const Object* o = object(found->object);
  if (!o || o->names.empty()) co_return ESTALE;  // it had no name, so that the file ended with the connection
  FidRef fid;
  if (int error = co_await find(call, found->object, &fid)) co_return error;
  if (int error = co_await open_copy(call, fid, found->flags & ~uint32_t(O_TRUNC | O_EXCL | O_CREAT), &found->fid))
    co_return error;
  ++client_.counters.reopened;
  if (Open* now = open(handle)) now->fid = found->fid;
  co_return 0;
}

Task Tree::find_or_open(OpCall& call, HandleId handle, ObjectId id, uint32_t access, Open* found) {
  const Object* o = object(id);
  if (!handle && o && o->names.empty()) handle = o->last_open;
  if (handle) co_return co_await find_open(call, handle, found);
  FidRef fid;
  if (int error = co_await find(call, id, &fid)) co_return error;
  if (fid->qid_type & kQidSymlink) co_return EINVAL;
  call.auxiliary();
  *found = {id, nullptr, access, call.uid, nullptr};
  if (fid->qid_type & kQidDir) {
    found->flags = O_RDONLY;
    found->listing = std::make_shared<Listing>();
  }
  co_return co_await open_copy(call, fid, found->flags, &found->fid);
}

void Tree::map_id(ObjectId id, ObjectId parent, std::string_view name, uint8_t qid_type, uint32_t uid, FidRef fid) {
  if (id == kNoObject || id == kRootObject) return;
  Object& o = add_name(id, parent, name);
  o.type_known = true;
  o.qid_type = qid_type;
  if (fid) keep(id, uid, std::move(fid));
}

}  // namespace fsr::ninep
