// SPDX-License-Identifier: Apache-2.0
#include "targets/afp/tree.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <algorithm>

#include "targets/afp/ops.hpp"
#include "targets/afp/session.hpp"

namespace fsr::afp {

Task Tree::find(OpCall& call, ObjectId id, NameInDirectory* entry) {
  if (id == kRootObject) {
    *entry = {call.client().root(), {}};
    co_return 0;
  }
  const Object* o = object(id);
  if (!o) {
    ++first_.counters.unknown;
    co_return ESTALE;
  }
  if (o->did) {
    *entry = {o->did, {}};
    co_return 0;
  }
  if (o->names.empty()) co_return ENOENT;
  const Object::Name last = o->original && !o->hidden ? *o->original : o->names.back();
  entry->name = to_wire_name(last.name);
  co_return co_await find_dir(call, last.parent, &entry->did);
}

Task Tree::find_dir(OpCall& call, ObjectId id, uint32_t* did) {
  NameInDirectory entry;
  if (const Object* o = object(id); o && !o->is_dir()) co_return ENOTDIR;
  if (int error = co_await find(call, id, &entry)) co_return error;
  if (!entry.name.empty()) {
    call.auxiliary();
    Parms parms;
    if (int error = co_await stat(call, entry, kNodeId, kNodeId, &parms)) co_return error;
    if (!parms.is_dir) co_return ENOTDIR;
    entry.did = parms.id;
    if (Object* o = object(id)) o->did = parms.id;
  }
  *did = entry.did;
  co_return 0;
}

Task Tree::find_open(OpCall& call, HandleId handle, Open* found) {
  const Open* known = open(handle);
  if (!known) co_return EBADF;
  *found = *known;
  if (found->listing) co_return EISDIR;
  if (call.client().current(found->fork)) co_return 0;
  const bool others = found->fork && found->fork->client.current(found->fork);  // it is still good for the client that opened it
  NameInDirectory entry;
  if (int error = co_await find(call, found->object, &entry)) co_return error;
  if (int error = co_await call.client().open_fork(&call, entry.did, entry.name, access_mode(found->flags), &found->fork))
    co_return error;
  if (others) co_return 0;
  ++first_.counters.reopened;
  if (Open* now = open(handle)) now->fork = found->fork;
  co_return 0;
}

Task Tree::find_or_open(OpCall& call, HandleId handle, ObjectId id, uint16_t access, Open* found) {
  const Object* o = object(id);
  if (!handle && o && o->names.empty()) handle = o->last_open;
  if (handle) co_return co_await find_open(call, handle, found);
  if (o && S_ISLNK(o->type)) co_return EINVAL;
  NameInDirectory entry;
  if (int error = co_await find(call, id, &entry)) co_return error;
  if (entry.name.empty()) co_return EISDIR;
  found->object = id;
  call.auxiliary();
  co_return co_await call.client().open_fork(&call, entry.did, entry.name, access, &found->fork);
}

void Tree::copied(ObjectId id) {
  if (Object* o = object(id); o && !o->original && !o->names.empty()) o->original = o->names.back();
}

static bool is(const Object::Name& one, ObjectId parent, std::string_view name) {
  return one.parent == parent && one.name == name;
}

static bool contains(const std::vector<Object::Name>& names, ObjectId parent, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](const Object::Name& n) { return is(n, parent, name); });
}

bool Tree::is_original(ObjectId id, ObjectId parent, std::string_view name) {
  const Object* o = object(id);
  return o && o->names.size() > 1 && o->original && is(*o->original, parent, name);
}

void Tree::set_original(ObjectId id, ObjectId parent, std::string_view name) {
  Object* o = object(id);
  if (!o || o->names.size() < 2) return;
  o->original = {parent, std::string(name)};
  std::erase_if(o->outdated, [&](const Object::Name& n) { return is(n, parent, name); });
}

void Tree::changed(ObjectId id) {
  Object* o = object(id);
  if (!o || o->names.size() < 2 || o->is_dir() || o->outdated.size() == o->names.size() - 1) return;
  const Object::Name used = o->original ? *o->original : o->names.back();
  o->outdated = o->names;
  std::erase_if(o->outdated, [&](const Object::Name& n) { return is(n, used.parent, used.name); });
}

Tree::Copy Tree::copy(ObjectId id, ObjectId parent, std::string_view name) {
  const Object* o = object(id);
  return {.original = is_original(id, parent, name), .outdated = o && contains(o->outdated, parent, name)};
}

void Tree::keep(const Copy& copy, ObjectId id, ObjectId parent, std::string_view name) {
  if (copy.original) set_original(id, parent, name);
  if (Object* o = object(id); copy.outdated && o) o->outdated.push_back({parent, std::string(name)});
}

void Tree::renamed(const Op& op, bool done) {
  const Copy one = copy(op.object, op.parent, op.name), other = copy(op.object2, op.parent2, op.name2);
  end_rename(op, done);
  if (!done) return;
  keep(one, op.object, op.parent2, op.name2);
  if (op.flags & RENAME_EXCHANGE) keep(other, op.object2, op.parent, op.name);
}

std::vector<std::string> Tree::outdated_copies() const {
  std::vector<std::string> copies;
  each_object([&](ObjectId, const Object& o) {
    if (o.names.size() < 2) return;
    for (const Object::Name& name : o.outdated) copies.push_back(name.name);
  });
  std::sort(copies.begin(), copies.end());
  return copies;
}

// Called if the object lost a name.
void Tree::forget_paths(ObjectId id) {
  Object* o = object(id);
  if (!o) return;
  std::erase_if(o->outdated, [&](const Object::Name& n) { return !contains(o->names, n.parent, n.name); });
  if (o->original && !contains(o->names, o->original->parent, o->original->name)) o->original.reset();
}

void Tree::map_id(ObjectId id, ObjectId parent, std::string_view name, uint32_t type, uint32_t did) {
  if (id == kNoObject || id == kRootObject) return;
  Object& o = add_name(id, parent, name);
  if (!S_ISLNK(o.type) || !S_ISREG(type)) o.type = type & S_IFMT;  // a link that is kept as a file remains a link
  o.did = o.is_dir() ? did : 0;
}

}  // namespace fsr::afp
