// SPDX-License-Identifier: Apache-2.0
// Operations whose reply was lost with a connection.
#include <errno.h>
#include <sys/stat.h>

#include "targets/lost_reply.hpp"
#include "targets/nfs/names.hpp"
#include "targets/nfs/nfs3_ops.hpp"

namespace fsr::nfs {

// see() and take_as_done() are called by settle(), which describes them.
static Task see(OpCall& call, ObjectId directory, std::string_view name, Sighting* seen) {
  FileHandle dir;
  if (int error = find_object(call, directory, &dir)) co_return error;
  call.auxiliary();
  const FileHandle known = begin_sighting(call.files(), call.op(), seen);
  const ClientReply* reply = &co_await call.send(Proc::lookup, encode_name, dir, name);
  if (reply->error) co_return reply->error == ENOENT ? 0 : reply->error;
  if (differ(reply->system, call.client().options.root_system)) co_return EXDEV;
  const FileHandle found = reply->handle;
  if (!reply->attr.valid) {  // LOOKUP may leave them out
    call.auxiliary();
    reply = &co_await call.send(Proc::getattr, encode_handle, found);
    if (reply->error) co_return reply->error;
  }
  found_object(call.files(), call.op(), known, found, reply->attr, seen);
  if (!S_ISLNK(seen->type)) co_return 0;
  call.auxiliary();
  reply = &co_await call.send(Proc::readlink, encode_handle, found);
  seen->text = reply->data;
  co_return reply->error;
}

static Task take_as_done(OpCall& call) {
  const Op& op = call.op();
  switch (op.kind) {
    case OpKind::unlink:
    case OpKind::rmdir:
    case OpKind::rename:
      forget_names(call);
      co_return 0;
    case OpKind::link: {
      FileHandle file;
      if (int error = find_object(call, op.object, &file)) co_return error;
      call.auxiliary();
      const ClientReply& reply = co_await call.send(Proc::getattr, encode_handle, file);
      if (!reply.error) call.files().learn_links(op.object, reply.attr);
      co_return finish_plain(call, reply);
    }
    default:
      call.auxiliary();
      co_return co_await do_lookup(call);
  }
}

Task after_lost_reply(OpCall& call, int error) {
  constexpr unsigned kMostAttempts = 4;
  Counters& counters = call.files().counters;
  for (unsigned attempts = 1; is_in_doubt(call, error); ++attempts) {
    bool again = false;
    error = co_await settle(call, error, &counters.done_without_reply, &again);
    if (!again || attempts == kMostAttempts) break;
    ++counters.repeated;
    error = co_await perform(call);
  }
  co_return error;
}

}  // namespace fsr::nfs
