// SPDX-License-Identifier: Apache-2.0
// Operations whose reply was lost with a connection. Servers do not tell here which file has a name, so a name that this client
// bound to an object is taken as that object's.
#include "targets/lost_reply.hpp"

#include <errno.h>
#include <sys/stat.h>

#include "targets/afp/ops.hpp"

namespace fsr::afp {

// True: the operation moves or copies further files, and names do not tell how far it got.
static bool moves_others(OpCall& call) {
  const Op& op = call.op();
  Tree& tree = call.tree();
  if (op.kind == OpKind::link) return tree.is_hidden_object(op.object);
  const bool unlinks = op.kind == OpKind::unlink, renames = op.kind == OpKind::rename;
  const ObjectId loses = unlinks ? op.object : renames ? op.object2 : kNoObject;
  if (loses == kNoObject) return false;
  return tree.is_hidden_object(loses) || tree.would_be_nameless(loses) ||
         tree.is_original(loses, unlinks ? op.parent : op.parent2, unlinks ? op.name : op.name2);
}

// A link that is being made is first an empty file, then one with the link's text.
static void see_unfinished_link(OpCall& call, Sighting* seen) {
  if (!seen->type) {
    call.made = false;  // removed by the server, which makes links only to what is in the volume
  } else if (call.made || (S_ISREG(seen->type) && !seen->size)) {
    seen->type = S_IFLNK;
    seen->text = call.op().data;
  }
}

Task see(OpCall& call, ObjectId directory, std::string_view name, Sighting* seen) {
  const Op& op = call.op();
  if (moves_others(call)) co_return EBUSY;
  if (int error = co_await call.client().ready(call)) co_return error;
  NameInDirectory entry{0, to_wire_name(name)};
  if (int error = co_await call.tree().find_dir(call, directory, &entry.did)) co_return error;
  Parms parms;
  call.auxiliary();
  const int error = co_await stat(call, entry, kFileStat, kDirStat, &parms);
  if (error && error != ENOENT) co_return error;
  if (!error) {
    seen->type = parms.is_dir ? S_IFDIR : parms.attr.mode & S_IFMT;
    seen->size = parms.attr.size;
  }
  if (op.kind == OpKind::symlink) see_unfinished_link(call, seen);
  if (op.kind == OpKind::mkdir) call.made_did = parms.id;
  const Object* known = call.tree().object(op.object);
  if (must_be_new(op)) {
    call.tree().each_object([&](ObjectId id, const Object& o) {
      if (id == op.object) return;
      seen->is_another |= parms.is_dir ? o.did && o.did == parms.id : Object::contains(o.names, directory, name);
    });
    // A create without O_EXCL begins again in any case, and must not take a file that it has made for an older one.
    if (op.kind == OpKind::create && S_ISREG(seen->type) && !seen->size && !known && !seen->is_another) call.made = true;
  } else if (known && known->type && op.kind != OpKind::link) {
    seen->is_object = seen->type && (known->is_dir() ? known->did == parms.id : !parms.is_dir);
  }
  co_return 0;
}

Task take_as_done(OpCall& call) {
  const Op& op = call.op();
  switch (op.kind) {
    case OpKind::unlink:
    case OpKind::rmdir:
      call.tree().unlinked(op.object, op.parent, op.name);
      co_return 0;
    case OpKind::rename:
      call.tree().renamed(op, true);
      co_return 0;
    case OpKind::symlink:
      if (int error = co_await do_lookup(call)) co_return error;
      if (S_ISLNK(call.tree().object(op.object)->type)) co_return 0;
      [[fallthrough]];
    default:  // only the first request is done
      call.made = true;
      co_return co_await perform(call);
  }
}

}  // namespace fsr::afp
