// SPDX-License-Identifier: Apache-2.0
#include "targets/ninep/tree.hpp"

#include <errno.h>
#include <fcntl.h>

#include "targets/ninep/ops.hpp"
#include "targets/ninep/session.hpp"

namespace fsr::ninep {

namespace {

constexpr size_t kDeepest = 4096;  // names of a path

}  // namespace

Tree::Tree(NinepClient& first) : KnownTree(".9p"), first_(first) {}

// --- fids of objects ---

FidRef Tree::cached(const OpCall& call, ObjectId id) {
  auto it = by_object_.find({id, call.uid, &call.client()});
  if (it == by_object_.end()) return nullptr;
  if (!call.client().current(it->second->fid) || it->second->fid->epoch < first_.epoch) {
    fids_.erase(it->second);
    by_object_.erase(it);
    return nullptr;
  }
  fids_.splice(fids_.begin(), fids_, it->second);
  return it->second->fid;
}

void Tree::keep(ObjectId id, uint32_t uid, FidRef fid) {
  if (id == kNoObject || id == kRootObject || !fid || !fid->client.current(fid)) return;
  const Key key{id, uid, &fid->client};
  auto [it, added] = by_object_.try_emplace(key);
  if (added) {
    fids_.push_front({key, std::move(fid)});
    it->second = fids_.begin();
  } else {
    it->second->fid = std::move(fid);
    fids_.splice(fids_.begin(), fids_, it->second);
  }
  while (fids_.size() > most_fids_) {
    by_object_.erase(fids_.back().key);
    fids_.pop_back();
  }
}

void Tree::forget_paths(ObjectId id) {
  for (auto it = by_object_.lower_bound({id, 0, nullptr}); it != by_object_.end() && it->first.object == id;) {
    fids_.erase(it->second);
    it = by_object_.erase(it);
  }
}

Task Tree::walk_to(OpCall& call, ObjectId id, const Object::Name& last, FidRef* found) {
  std::vector<std::string> path{last.name};
  FidRef from;
  for (ObjectId at = last.parent; !from;) {
    if (at == kRootObject) {
      if (int error = co_await call.client().root(&call, call.uid, &from)) co_return error;
      break;
    }
    from = cached(call, at);
    if (from) break;
    const Object* o = object(at);
    if (!o || o->names.empty()) co_return ENOENT;
    path.push_back(o->names.back().name);
    at = o->names.back().parent;
    if (path.size() > kDeepest) co_return ELOOP;
  }
  std::vector<std::string_view> names(path.rbegin(), path.rend());
  call.auxiliary();
  if (int error = co_await call.client().walk(&call, from, names, found)) co_return error;
  keep(id, call.uid, *found);
  co_return 0;
}

Task Tree::find(OpCall& call, ObjectId id, FidRef* found, bool open_will_do) {
  if (id == kRootObject) co_return co_await call.client().root(&call, call.uid, found);
  if ((*found = cached(call, id))) co_return 0;
  const Object* o = object(id);
  if (!o) {
    ++first_.counters.unknown;
    co_return ESTALE;
  }
  if (o->names.empty()) {
    const Open* opened = open_will_do ? open(o->last_open) : nullptr;
    if (!opened || !call.client().current(opened->fid)) co_return ENOENT;
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
  if (call.client().current(found->fid)) co_return 0;
  const bool others =
      found->fid && found->fid->client.current(found->fid);  // the handle is still good for the client that opened it
  const Object* o = object(found->object);
  if (!o || o->names.empty()) co_return ESTALE;  // it had no name, so that the file ended with the connection
  FidRef fid;
  if (int error = co_await find(call, found->object, &fid)) co_return error;
  if (int error = co_await open_copy(call, fid, found->flags & ~uint32_t(O_TRUNC | O_EXCL | O_CREAT), &found->fid))
    co_return error;
  if (others) co_return 0;
  ++first_.counters.reopened;
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

void Tree::map_id(ObjectId id, ObjectId parent, std::string_view name, uint8_t qid_type, uint64_t qid_path, uint32_t uid,
                  FidRef fid) {
  if (id == kNoObject || id == kRootObject) return;
  Object& o = add_name(id, parent, name);
  o.type_known = true;
  o.qid_type = qid_type;
  o.qid_path = qid_path;
  if (fid) keep(id, uid, std::move(fid));
}

}  // namespace fsr::ninep
