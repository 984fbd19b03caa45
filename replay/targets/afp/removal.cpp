// SPDX-License-Identifier: Apache-2.0
// Removes names. A hard link is a copy on AFP, and an open file can't be removed. So the removal of a name may move a file.
#include <errno.h>

#include "targets/afp/ops.hpp"

namespace fsr::afp {

namespace {

// Moves an open file that loses its last name to a hidden name, because AFP can't remove an open file.
Task hide(OpCall& call, const NameInDirectory& entry, ObjectId object) {
  const std::string hidden = call.tree().hidden_name();
  const NameInDirectory aside{call.client().root(), hidden};
  if (int error = co_await move(call, entry, aside)) co_return error;
  ++call.client().counters.hidden;
  call.tree().hid(object, kRootObject, hidden);
  co_return 0;
}

// Sends the request to remove a name, and does not wait for the reply. A server performs the requests of a connection in their
// order. So if the next request gives the name to another file, no operation finds the name missing.
void begin_removal(OpCall& call, const NameInDirectory& entry) {
  Rpc& rpc = call.client().request(nullptr, Command::remove, false);
  rpc.out().u8(0).u16(call.client().volume()).u32(entry.did).path(entry.name);
  call.client().begin(rpc);
}

// Makes a copy again that was removed for a file that could not take its place. EEXIST: the copy was not removed.
Task copy_again(OpCall& call, const NameInDirectory& from, const NameInDirectory& copy, ObjectId object, Object::Name name) {
  call.auxiliary();
  const int error = co_await copy_file(call, from, copy);
  const bool unknown = error == ETIMEDOUT || error == ECANCELED || connection_broke(error);
  if (error && error != EEXIST && !unknown) call.tree().unlinked(object, name.parent, name.name);
  co_return error;
}

// Removes a name of a file that has further names. Links are copies on AFP, and the copy at `entry` is the one that was written
// to, or is open and can't be removed. It replaces another copy, as if both were one file.
Task replace_copy(OpCall& call, const NameInDirectory& entry, ObjectId object) {
  const Object* o = call.tree().object(object);
  if (!o) co_return EBUSY;
  const std::vector<Object::Name> names(o->names.rbegin(), o->names.rend());  // the name that operations use comes first
  for (const Object::Name& name : names) {
    NameInDirectory copy;
    copy.name = to_wire_name(name.name);
    if (int error = co_await call.tree().find_dir(call, name.parent, &copy.did)) co_return error;
    if (copy.did == entry.did && copy.name == entry.name) continue;
    begin_removal(call, copy);
    int error = co_await move(call, entry, copy);
    if (error == EEXIST) {  // the server refused to remove the copy
      error = co_await remove_entry(call, copy);
      if (!error) error = co_await move(call, entry, copy);
    }
    if (error && !connection_broke(error)) co_await copy_again(call, entry, copy, object, name);
    if (error) co_return error;
    call.tree().set_original(object, name.parent, name.name);
    co_return 0;
  }
  co_return EBUSY;
}

}  // namespace

Task move(OpCall& call, const NameInDirectory& from, const NameInDirectory& to) {
  Rpc& rpc = call.ask_at(Command::move_and_rename, from.did, false);
  rpc.out().u32(to.did).path(from.name).path({}).path(to.name);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task copy_file(OpCall& call, const NameInDirectory& from, const NameInDirectory& to) {
  Rpc& rpc = call.ask_at(Command::copy_file, from.did, false);
  rpc.out().u16(call.client().volume()).u32(to.did).path(from.name).path({}).path(to.name);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task remove_entry(OpCall& call, const NameInDirectory& entry) {
  Rpc& rpc = call.ask_at(Command::remove, entry.did, false);
  rpc.out().path(entry.name);
  const Reply& reply = co_await call.client().send(rpc);
  co_return reply.error;
}

Task remove_hidden(OpCall& call, const std::string& name) {
  call.auxiliary();
  const NameInDirectory entry{call.client().root(), name};
  const int error = co_await remove_entry(call, entry);
  if (error) ++call.client().counters.hidden_left;
  co_return error;
}

Task remove_or_hide(OpCall& call, const NameInDirectory& entry, ObjectId object, ObjectId parent, std::string_view name) {
  if (call.tree().would_be_nameless(object)) co_return co_await hide(call, entry, object);
  if (call.tree().is_original(object, parent, name)) {
    call.auxiliary();
    co_return co_await replace_copy(call, entry, object);
  }
  const int error = co_await remove_entry(call, entry);
  if (error != EBUSY) co_return error;
  call.auxiliary();
  co_return co_await replace_copy(call, entry, object);
}

}  // namespace fsr::afp
