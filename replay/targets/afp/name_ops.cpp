// SPDX-License-Identifier: Apache-2.0
// Operations that look up, create, move and remove names.
#include <errno.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "targets/afp/ops.hpp"

namespace fsr::afp {

namespace {

Task find_parent(OpCall& call, NameInDirectory* entry) {
  const Op& op = call.op();
  if (int error = name_problem(op.name)) co_return error;
  entry->name = to_wire_name(op.name);
  co_return co_await call.tree().find_dir(call, op.parent, &entry->did);
}

Task find_second(OpCall& call, NameInDirectory* entry) {
  const Op& op = call.op();
  if (int error = name_problem(op.name2)) co_return error;
  entry->name = to_wire_name(op.name2);
  co_return co_await call.tree().find_dir(call, op.parent2, &entry->did);
}

void map_result(OpCall& call, uint32_t type, uint32_t did = 0) {
  const Op& op = call.op();
  call.tree().map_id(op.object, op.parent, op.name, type, did);
}

// Finds the type of an object, as known or else by asking the server.
Task type_at(OpCall& call, ObjectId object, const NameInDirectory& entry, uint32_t* type) {
  const Object* o = call.tree().object(object);
  if (o && o->type) {
    *type = o->type;
    co_return 0;
  }
  Parms parms;
  call.auxiliary();
  const int error = co_await stat(call, entry, kNodeId, kNodeId, &parms);
  *type = parms.is_dir ? S_IFDIR : S_IFREG;
  co_return error;
}

// Removes the target of a rename as rename(2) would, and fails if rename(2) would fail.
Task remove_replaced(OpCall& call, const NameInDirectory& from, const NameInDirectory& to) {
  const Op& op = call.op();
  uint32_t type = 0, type2 = 0;
  if (int error = co_await type_at(call, op.object, from, &type)) co_return error;
  if (int error = co_await type_at(call, op.object2, to, &type2)) co_return error;
  if (S_ISDIR(type) && !S_ISDIR(type2)) co_return ENOTDIR;
  if (!S_ISDIR(type) && S_ISDIR(type2)) co_return EISDIR;
  call.auxiliary();
  co_return co_await remove_or_hide(call, to, op.object2, op.parent2, op.name2);
}

Task exchange_by_moves(OpCall& call, const NameInDirectory& from, const NameInDirectory& to) {
  const NameInDirectory aside{call.client().root(), call.tree().hidden_name()};
  if (int error = co_await move(call, from, aside)) co_return error;
  call.harmful = true;  // it must not begin again, because `from` is moved
  call.auxiliary();
  int error = co_await move(call, to, from);
  call.auxiliary();
  if (!error) co_return co_await move(call, aside, to);
  co_await move(call, aside, from);
  co_return error;
}

// Exchanges two names. The server's command swaps the contents of two files; if one is a directory, three moves are needed.
Task exchange(OpCall& call, const NameInDirectory& from, const NameInDirectory& to) {
  Rpc& rpc = call.ask_at(Command::exchange_files, from.did, false);
  rpc.out().u32(to.did).path(from.name).path(to.name);
  const Reply& reply = co_await call.client().send(rpc);
  int error = reply.error;
  if (reply.result == kObjectTypeError) error = co_await exchange_by_moves(call, from, to);
  co_return error == ENODATA ? ENOENT : error;
}

Task move_or_replace(OpCall& call, const NameInDirectory& from, const NameInDirectory& to) {
  int error = co_await move(call, from, to);
  if (error != EEXIST || call.op().flags != 0) co_return error;
  error = co_await remove_replaced(call, from, to);
  if (!error) error = co_await move(call, from, to);
  co_return error;
}

// Makes a file with the text of a link. The server converts it to a link when it gets a link's type and creator. If the link does
// not lead to an object in the volume, the server removes the file. The caller then keeps the link as a file.
Task make_link_file(OpCall& call, const NameInDirectory& entry, std::string_view target, bool* made) {
  constexpr std::string_view kLinkTypeAndCreator = "slnkrhap";
  constexpr size_t kFinderInfoSize = 32;
  ForkRef fork;
  if (int error = co_await make_file(call, entry)) co_return error;
  *made = true;
  if (int error = co_await open_at(call, entry, kAccessRead | kAccessWrite, &fork)) co_return error;
  int error = co_await write_all(call, fork, target);
  co_await call.client().close_fork(&call, fork);
  if (error) co_return error;
  Rpc& rpc = call.ask_at(Command::set_file_parms, entry.did, false);
  rpc.out().u16(kFinderInfo).path(entry.name).even().bytes(kLinkTypeAndCreator);
  rpc.out().zeros(kFinderInfoSize - kLinkTypeAndCreator.size());
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task keep_as_file(OpCall& call, const NameInDirectory& entry, std::string_view target) {
  ForkRef fork;
  const int exists = co_await create_file(call, entry.did, entry.name);
  if (exists && exists != EEXIST) co_return exists;
  if (int error = co_await open_at(call, entry, kAccessRead | kAccessWrite, &fork)) co_return error;
  int error = co_await write_all(call, fork, target);
  co_await call.client().close_fork(&call, fork);
  if (!error) ++call.client().counters.plain_links;
  co_return error;
}

bool may_be_a_link(std::string_view target) {
  if (target.starts_with('/')) return false;
  for (size_t at = 0; at <= target.size();) {
    const size_t end = std::min(target.find('/', at), target.size());
    if (target.substr(at, end - at) == "..") return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

Task create_file(OpCall& call, uint32_t did, std::string_view name) {
  Rpc& rpc = call.ask(Command::create_file, false);
  rpc.out().u8(0).u16(call.client().volume()).u32(did).path(name);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task make_file(OpCall& call, const NameInDirectory& entry) {
  if (call.made) co_return 0;
  const int error = co_await create_file(call, entry.did, entry.name);
  call.made = !error;
  co_return error;
}

Task do_lookup(OpCall& call) {
  NameInDirectory entry;
  Parms parms;
  if (int error = co_await find_parent(call, &entry)) co_return error;
  if (int error = co_await stat(call, entry, kFileStat, kDirStat, &parms)) co_return error;
  call.request->outcome.attr = parms.attr;
  map_result(call, parms.is_dir ? S_IFDIR : parms.attr.mode & S_IFMT, parms.id);
  co_return 0;
}

Task do_mkdir(OpCall& call) {
  NameInDirectory entry;
  if (int error = co_await find_parent(call, &entry)) co_return error;
  if (!call.made) {
    Rpc& rpc = call.ask_at(Command::create_dir, entry.did, false);
    rpc.out().path(entry.name);
    const Reply& reply = co_await call.client().send(rpc);
    if (reply.error) co_return reply.error;
    call.made = true;
    call.made_did = reply.parms.id;
  }
  map_result(call, S_IFDIR, call.made_did);
  const NameInDirectory made{call.made_did, {}};
  co_return co_await set_mode(call, made, allowed_mode(call, (call.op().mode & 07777) | S_IFDIR));
}

Task do_mknod(OpCall& call) {
  NameInDirectory entry;
  if (int error = co_await find_parent(call, &entry)) co_return error;
  if (int error = co_await make_file(call, entry)) co_return error;
  map_result(call, S_IFREG);
  co_return co_await set_mode(call, entry, allowed_mode(call, (call.op().mode & 07777) | S_IFREG));
}

Task do_symlink(OpCall& call) {
  const std::string_view target = call.op().data;
  NameInDirectory entry;
  bool made = false;
  if (target.empty()) co_return ENOENT;
  if (int error = co_await find_parent(call, &entry)) co_return error;
  int error = EACCES;
  if (may_be_a_link(target)) {
    error = co_await make_link_file(call, entry, target, &made);
    if (!made || connection_broke(error)) co_return error;
  } else {
    error = co_await make_file(call, entry);
    if (error) co_return error;
    error = EACCES;
  }
  if (error) error = co_await keep_as_file(call, entry, target);
  if (!error) map_result(call, S_IFLNK);
  co_return error;
}

Task do_link(OpCall& call) {
  const Op& op = call.op();
  NameInDirectory from, to;
  if (int error = co_await call.tree().find(call, op.object, &from)) co_return error;
  if (int error = co_await find_second(call, &to)) co_return error;
  const Object* o = call.tree().object(op.object);
  if (from.name.empty() || !o || S_ISDIR(o->type)) co_return EPERM;
  const uint32_t type = o->type;
  if (o->hidden) {                             // an unnamed file gets its first name
    if (op.error == ENOENT) co_return ENOENT;  // but a removed file gets none
    const Object::Name hidden = o->names.back();
    if (int error = co_await move(call, from, to)) co_return error;
    call.tree().map_id(op.object, op.parent2, op.name2, type, 0);
    call.tree().object(op.object)->hidden = false;
    call.tree().unlinked(op.object, hidden.parent, hidden.name);
    co_return 0;
  }
  if (int error = co_await copy_file(call, from, to)) co_return error;
  ++call.client().counters.copied_links;
  call.tree().copied(op.object);
  call.tree().map_id(op.object, op.parent2, op.name2, type, 0);
  co_return 0;
}

Task do_remove(OpCall& call) {
  const Op& op = call.op();
  const bool want_dir = op.kind == OpKind::rmdir;
  NameInDirectory entry;
  uint32_t type = 0;
  if (int error = co_await find_parent(call, &entry)) co_return error;
  if (int error = co_await type_at(call, op.object, entry, &type)) co_return error;
  if (S_ISDIR(type) != want_dir) co_return want_dir ? ENOTDIR : EISDIR;
  const int error = co_await remove_or_hide(call, entry, op.object, op.parent, op.name);
  if (!error && !call.tree().is_hidden_object(op.object)) call.tree().unlinked(op.object, op.parent, op.name);
  co_return error;
}

Task do_rename(OpCall& call) {
  const Op& op = call.op();
  NameInDirectory from, to;
  if (int error = co_await find_parent(call, &from)) co_return error;
  if (int error = co_await find_second(call, &to)) co_return error;
  if (from.did == to.did && from.name == to.name) co_return 0;
  const bool exchanges = op.flags == RENAME_EXCHANGE;
  // Two links of one file, which are copies here: rename(2) does nothing.
  if (op.object != kNoObject && op.object == op.object2 && (op.flags == 0 || exchanges)) {
    Parms parms;
    co_return co_await stat(call, from, kNodeId, kNodeId, &parms);
  }
  call.tree().begin_rename(op);
  int error = 0;
  if (exchanges)
    error = co_await exchange(call, from, to);
  else
    error = co_await move_or_replace(call, from, to);
  call.tree().renamed(op, error == 0);
  co_return error;
}

}  // namespace fsr::afp
