// SPDX-License-Identifier: Apache-2.0
// Operations whose reply was lost with a session.
#include "targets/lost_reply.hpp"

#include <errno.h>
#include <sys/stat.h>

#include "targets/nfs/names.hpp"
#include "targets/nfs4/ops.hpp"

namespace fsr::nfs4 {

Task see(OpCall& call, ObjectId directory, std::string_view name, Sighting* seen) {
  FileHandle dir;
  if (int error = find_object(call, directory, &dir)) co_return error;
  if (int error = co_await call.client().ready(call)) co_return error;
  call.auxiliary();
  const FileHandle known = nfs::begin_sighting(call.files(), call.op(), seen);
  Rpc& lookup = call.ask();
  lookup.compound.putfh(dir).lookup(name).getfh().getattr(kFoundAttributes);
  const Reply* reply = &co_await call.send(lookup);
  if (reply->error) co_return reply->error == ENOENT ? 0 : reply->error;
  if (nfs::differ(reply->server.system, call.client().options.root_system)) co_return EXDEV;
  const FileHandle found = reply->handle;
  nfs::found_object(call.files(), call.op(), known, found, reply->attr, seen);
  if (!S_ISLNK(seen->type)) co_return 0;
  call.auxiliary();
  Rpc& read = call.ask();
  read.compound.putfh(found).readlink();
  reply = &co_await call.send(read);
  seen->text = reply->data;
  co_return reply->error;
}

Task take_as_done(OpCall& call) {
  const Op& op = call.op();
  switch (op.kind) {
    case OpKind::unlink:
    case OpKind::rmdir:
    case OpKind::rename:
      nfs::forget_names(call);
      co_return 0;
    case OpKind::link: {
      FileHandle file;
      if (int error = find_object(call, op.object, &file)) co_return error;
      call.auxiliary();
      Rpc& rpc = call.ask();
      rpc.compound.putfh(file).getattr();
      const Reply& reply = co_await call.send(rpc);
      if (reply.error) co_return reply.error;
      call.files().learn_links(op.object, reply.attr);
      call.request->outcome.attr = reply.attr;
      co_return 0;
    }
    default:
      call.auxiliary();
      co_return co_await do_lookup(call);
  }
}

}  // namespace fsr::nfs4
