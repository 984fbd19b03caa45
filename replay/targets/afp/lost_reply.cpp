// SPDX-License-Identifier: Apache-2.0
// Operations whose reply was lost with a connection. The client knows the server's ids of directories, but not of files. So a
// file that a removal or rename has to do with is not recognized.
#include "targets/lost_reply.hpp"

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>

#include "targets/afp/ops.hpp"

namespace fsr::afp {

// True: names do not tell how far the operation got, because it copies files, or moves one that is open or has several names.
static bool moves_files(OpCall& call) {
  const Op& op = call.op();
  const Object* o = call.tree().object(op.object);
  switch (op.kind) {
    case OpKind::link:
      return true;
    case OpKind::unlink:
      return o && (o->hidden || o->opens > 0 || o->names.size() > 1);
    case OpKind::rename:
      return !o || !S_ISDIR(o->type);
    default:
      return false;
  }
}

// A symbolic link is first an empty file, then one with the link's text. The server removes it if it leads out of the volume.
static void see_unfinished_link(OpCall& call, Sighting* seen) {
  const std::string_view text = call.op().data;
  const bool begun = S_ISREG(seen->type) && (seen->size == 0 || (call.made && seen->size == text.size()));
  if (!seen->type) call.made = false;
  if (!begun && !(call.made && S_ISLNK(seen->type))) return;
  seen->type = S_IFLNK;
  seen->text = text;
}

// True: an earlier operation bound the name, or the directory, to another object.
static bool is_bound(OpCall& call, ObjectId directory, const std::string& wire_name, const Parms& seen) {
  bool bound = false;
  call.tree().each_object([&](ObjectId id, const Object& o) {
    if (id == call.op().object) return;
    bound |= seen.is_dir ? o.did && o.did == seen.id : std::any_of(o.names.begin(), o.names.end(), [&](const Object::Name& n) {
      return n.parent == directory && to_wire_name(n.name) == wire_name;
    });
  });
  return bound;
}

Task see(OpCall& call, ObjectId directory, std::string_view name, Sighting* seen) {
  const Op& op = call.op();
  if (moves_files(call)) co_return EBUSY;
  if (int error = co_await call.client().ready(call)) co_return error;
  NameInDirectory entry{0, to_wire_name(name)};
  if (int error = co_await call.tree().find_dir(call, directory, &entry.did)) co_return error;
  Parms parms;
  call.auxiliary();
  const int error = co_await stat(call, entry, kFileStat, kDirStat | kOffspringCount, &parms);
  if (error && error != ENOENT) co_return error;
  if (!error) {
    seen->type = parms.is_dir ? S_IFDIR : parms.attr.mode & S_IFMT;
    seen->size = parms.attr.size;
    seen->links = 2 + parms.offspring;
  }
  const Object* known = call.tree().object(op.object);
  if (!must_be_new(op)) {
    if (known && known->type && !seen->type) seen->is_object = false;
    if (known && known->did && seen->type) seen->is_object = parms.is_dir && known->did == parms.id;
    co_return 0;
  }
  seen->is_another = !error && is_bound(call, directory, entry.name, parms);
  if (op.kind == OpKind::symlink) see_unfinished_link(call, seen);
  if (op.kind == OpKind::mkdir) call.made_did = parms.id;
  // A create without O_EXCL begins again in any case. A new file needs its mode then.
  if (op.kind == OpKind::create && !known && S_ISREG(seen->type) && !seen->size && !seen->is_another) call.made = true;
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
      if (S_ISLNK(call.request->outcome.attr.mode)) co_return 0;
      [[fallthrough]];
    default:  // only the first request is done
      call.made = true;
      co_return co_await perform(call);
  }
}

}  // namespace fsr::afp
