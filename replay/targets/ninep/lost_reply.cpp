// SPDX-License-Identifier: Apache-2.0
// Operations whose reply was lost with a connection.
#include "targets/lost_reply.hpp"

#include <errno.h>
#include <sys/stat.h>

#include "targets/ninep/ops.hpp"

namespace fsr::ninep {

// True: the operation gives an open file a hidden name first, and names do not tell how far it got.
static bool hides_first(OpCall& call) {
  const Op& op = call.op();
  if (op.kind == OpKind::link) return call.tree().is_hidden_object(op.object);
  const ObjectId loses = op.kind == OpKind::unlink ? op.object : op.kind == OpKind::rename ? op.object2 : kNoObject;
  return loses != kNoObject && (call.tree().is_hidden_object(loses) || call.tree().must_hide(loses));
}

Task see(OpCall& call, ObjectId directory, std::string_view name, Sighting* seen) {
  if (hides_first(call)) co_return EBUSY;
  if (int error = co_await call.client().ready(call)) co_return error;
  FidRef dir, fid;
  if (int error = co_await call.tree().find_dir(call, directory, &dir)) co_return error;
  const Object* known = call.tree().object(call.op().object);
  if (known && known->type_known) seen->is_object = false;
  const uint64_t path = known ? known->qid_path : 0;
  call.auxiliary();
  if (int error = co_await walk_one(call, dir, name, &fid)) co_return error == ENOENT ? 0 : error;
  Attr attr;
  call.auxiliary();
  if (int error = co_await stat(call, fid, &attr)) co_return error;
  if (seen->is_object) seen->is_object = path == fid->qid_path;
  seen->type = attr.mode & S_IFMT;
  seen->size = attr.size;
  seen->links = attr.nlink;
  seen->rdev = attr.rdev;
  if (must_be_new(call.op()))
    call.tree().each_object([&](ObjectId id, const Object& o) {
      seen->is_another |= id != call.op().object && o.type_known && o.qid_path == fid->qid_path;
    });
  if (!S_ISLNK(seen->type)) co_return 0;
  call.auxiliary();
  co_return co_await read_link(call, fid, &seen->text);
}

Task take_as_done(OpCall& call) {
  const Op& op = call.op();
  switch (op.kind) {
    case OpKind::unlink:
    case OpKind::rmdir:
      call.tree().unlinked(op.object, op.parent, op.name);
      co_return 0;
    case OpKind::rename:
      call.tree().end_rename(op, true);
      co_return 0;
    case OpKind::link: {
      FidRef file;
      if (int error = co_await call.tree().find(call, op.object, &file)) co_return error;
      call.tree().map_id(op.object, op.parent2, op.name2, *file, call.uid);
      co_return 0;
    }
    case OpKind::create:
      co_return co_await open_made(call);
    default:
      co_return co_await do_lookup(call);
  }
}

}  // namespace fsr::ninep
