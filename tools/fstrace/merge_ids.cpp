// SPDX-License-Identifier: Apache-2.0
#include "merge_ids.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "trace/model.hpp"

namespace fsr::fstrace {

MergedIds::MergedIds(const std::vector<ClientRange>& clients, bool apart) : clients_(clients.size()) {
  for (size_t i = 0; i < clients.size(); ++i) {
    clients_[i].range = clients[i];
    next_client_ = clients[i].first + clients[i].count;
    ObjectId root = kRootObject;
    if (apart) {
      root = next_object_++;
      const std::string name = "client-" + std::to_string(clients[i].first);
      const Attr attr{.valid = kAttrMode, .mode = S_IFDIR | 0755};
      state_.apply({.kind = OpKind::lookup, .object = root, .parent = kRootObject, .name = name, .attr = &attr});
    }
    clients_[i].objects.emplace(kRootObject, root);
    clients_[i].taken.insert(root);
  }
}

uint32_t MergedIds::number(Client& c, uint32_t client) {
  if (client <= c.range.count) return c.range.first + std::max<uint32_t>(client, 1) - 1;
  auto [it, news] = c.others.try_emplace(client, next_client_);
  if (news) ++next_client_;
  return it->second;
}

ObjectId MergedIds::object(Client& c, ObjectId id) {
  if (!id) return kNoObject;
  auto [it, news] = c.objects.try_emplace(id, next_object_);
  if (news) c.taken.insert(next_object_++);
  return it->second;
}

ObjectId MergedIds::named(Client& c, ObjectId id, ObjectId parent, std::string_view name) {
  ObjectId there = kNoObject;
  if (id && !c.objects.contains(id) && state_.lookup(parent, name, &there) && there && c.taken.insert(there).second)
    c.objects.emplace(id, there);
  return object(c, id);
}

HandleId MergedIds::handle(Client& c, HandleId id) {
  if (!id) return 0;
  auto [it, news] = c.handles.try_emplace(id, next_handle_);
  if (news) ++next_handle_;
  return it->second;
}

ThreadId MergedIds::thread(Client& c, ThreadId id) {
  if (!id) return 0;
  auto [it, news] = c.threads.try_emplace(id, next_thread_);
  if (news) ++next_thread_;
  return it->second;
}

void MergedIds::add_state(size_t i, const LiveState& state) {
  Client& c = clients_[i];
  struct Name {
    std::string name;
    ObjectId object;
    uint32_t type;
  };
  std::multimap<ObjectId, Name> below;
  state.each_name([&](ObjectId parent, std::string_view name, ObjectId id, uint32_t type) {
    below.emplace(parent, Name{std::string(name), id, type});
  });
  // From the root downwards, so that each directory is known by its merged number before what lies in it.
  std::vector<ObjectId> folders{kRootObject};
  for (size_t f = 0; f < folders.size(); ++f) {
    auto [first, last] = below.equal_range(folders[f]);
    for (auto it = first; it != last; ++it) {
      const Name& n = it->second;
      const ObjectId parent = object(c, folders[f]);
      if (!n.object) {
        const DirEntry entry{.name = n.name, .type = n.type};
        Op listed{.kind = OpKind::readdir, .object = parent};
        listed.entries = {&entry, 1};
        state_.apply(listed);
        continue;
      }
      const LiveObject* live = state.object(n.object);
      const bool seen = c.objects.contains(n.object);
      Op op{.kind = OpKind::lookup, .object = named(c, n.object, parent, n.name), .parent = parent, .name = n.name};
      if (live) op.attr = &live->attr;
      state_.apply(op);
      if (live && !live->target.empty()) state_.apply({.kind = OpKind::readlink, .object = op.object, .data = live->target});
      if (!seen && (n.type == S_IFDIR || below.contains(n.object))) folders.push_back(n.object);
    }
    below.erase(first, last);
  }
  state.each_open([&](const LiveOpen& open) {
    Op op{.kind = open.directory ? OpKind::opendir : OpKind::open, .thread = thread(c, open.thread)};
    op.object = object(c, open.object);
    op.handle = handle(c, open.handle);
    op.open_flags = open.open_flags;
    state_.apply(op);
  });
  state.each_lock([&](const LiveLock& lock) {
    Op op{.kind = lock.flock ? OpKind::flock : OpKind::setlk};
    op.object = object(c, lock.object);
    op.handle = handle(c, lock.handle);
    op.owner = owner(i, lock.owner);
    op.offset = lock.offset;
    op.length = lock.length;
    op.mode = lock.mode;
    state_.apply(op);
  });
}

Op MergedIds::map(size_t i, const Op& op, Arena& arena) {
  Client& c = clients_[i];
  const uint16_t traits = kind_traits(op.kind);
  Op out = op;
  out.thread = thread(c, op.thread);
  if (op.who) {
    ThreadInfo* who = arena.make<ThreadInfo>();
    *who = *op.who;
    who->id = out.thread;
    who->client = number(c, op.who->client);
    out.who = who;
  }
  out.parent = object(c, op.parent);
  out.parent2 = object(c, op.parent2);
  const bool makes = traits & kMakesObject && (op.kind != OpKind::create || op.has(kOpCreated));
  out.object = traits & kHasName && !makes ? named(c, op.object, out.parent, op.name) : object(c, op.object);
  out.object2 = op.kind == OpKind::rename ? named(c, op.object2, out.parent2, op.name2) : object(c, op.object2);
  out.handle = handle(c, op.handle);
  out.handle2 = handle(c, op.handle2);
  out.owner = owner(i, op.owner);
  if (traits & kEndsHandle) c.handles.erase(op.handle);
  state_.apply(out);
  return out;
}

}  // namespace fsr::fstrace
