// SPDX-License-Identifier: Apache-2.0
// Renames, and hides the names of open files, in version 3 as in version 4. An open file that loses its last name gets a hidden
// name until its last release, as on a Linux mount. Otherwise the server might remove the file.
//
// Each version has its own OpCall, and functions for its requests, which these templates find by their arguments:
//   Task rename_name(OpCall&, const FileHandle& from, std::string_view name, const FileHandle& to, std::string_view name2);
//   Task find_name(OpCall&, const FileHandle& dir, std::string_view name);
//   Task make_whiteout(OpCall&, const FileHandle& dir);  // under the operation's name
//   Task remove_hidden_name(OpCall&, const HiddenName&);
// OpCall::hid says that the replaced file got a hidden name. The templates are static for the reason in path_protocol.hpp.
#pragma once

#include <errno.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/task.hpp"
#include "targets/lost_reply.hpp"
#include "targets/nfs/nfs_state.hpp"

namespace fsr::nfs {

// True: the server may or may not have performed the request.
inline bool perhaps_done(int error) { return error == ECONNRESET || error == ETIMEDOUT || error == EBADMSG; }

// Begins what see() of lost_reply.hpp finds out: the name may not exist. Returns the handle of the operation's object, if it is
// known.
inline FileHandle begin_sighting(NfsState& files, const Op& op, Sighting* seen) {
  FileHandle known;
  const auto remember = [&](const Object& o) {
    known = o.handle;
    seen->links_before = o.links;
  };
  if (files.objects.visit(op.object, remember)) seen->is_object = false;
  return known;
}

// Adds the object that the name is of.
inline void found_object(NfsState& files, const Op& op, const FileHandle& known, const FileHandle& found, const Attr& attr,
                         Sighting* seen) {
  if (seen->is_object) seen->is_object = known.view() == found.view();
  seen->type = attr.mode & S_IFMT;
  seen->size = attr.size;
  seen->links = attr.nlink;
  seen->rdev = attr.rdev;
  if (must_be_new(op)) seen->is_another = files.knows_as_another(op.object, found);
}

// Removes a hidden name. A failure is counted.
template <class OpCall>
static Task drop_hidden(OpCall& call, const HiddenName& name) {
  call.auxiliary();
  const int error = co_await remove_hidden_name(call, name);
  if (error && error != ENOENT) ++call.files().counters.hidden_left;
  co_return error;
}

// Moves a name of an open file to a hidden name. The hidden name is in the root, so that the directory can be removed. If that is
// forbidden, it is beside the old name.
template <class OpCall>
static Task hide(OpCall& call, const FileHandle& dir, std::string_view name, ObjectId object) {
  NfsState& files = call.files();
  HiddenName hiding{call.client().options.root, files.hidden_name(), call.who};
  int error = co_await rename_name(call, dir, name, hiding.dir, hiding.name);
  if (error == EACCES || error == EPERM || error == EXDEV) {
    call.auxiliary();
    hiding.dir = dir;
    error = co_await rename_name(call, dir, name, dir, hiding.name);
  }
  if (error && !perhaps_done(error)) co_return error;
  if (!error) ++files.counters.hidden;
  const bool kept = error ? files.hide_perhaps(object, hiding) : files.hide(object, hiding);
  if (!kept) co_await drop_hidden(call, hiding);
  co_return error;
}

// Exchanges two names by three renames, using a hidden name. The object that was put aside moves to the other's name, or back to
// its own if the second rename failed. If that is not known, it stays aside, because either might replace the other object.
template <class OpCall>
static Task exchange(OpCall& call, const FileHandle& from, const FileHandle& to) {
  const Op& op = call.op();
  const std::string aside = call.files().hidden_name();
  int error = co_await rename_name(call, from, op.name, from, aside);
  if (error && !perhaps_done(error)) co_return error;
  call.auxiliary();
  if (!error) {
    error = co_await rename_name(call, to, op.name2, from, op.name);
    if (perhaps_done(error)) {
      ++call.files().counters.hidden_left;
      co_return error;
    }
    call.auxiliary();
  }
  const int last = co_await rename_name(call, from, aside, error ? from : to, error ? op.name : op.name2);
  if (last && last != ENOENT) ++call.files().counters.hidden_left;
  co_return error ? error : last;
}

// Forgets the names that an operation has removed. It is done, but its reply was lost (lost_reply.hpp).
template <class OpCall>
void forget_names(OpCall& call) {
  const Op& op = call.op();
  if (op.kind == OpKind::rename) {
    if (op.object2 != op.object && !call.hid) call.files().unlinked(op.object2);
  } else {
    if (op.kind == OpKind::unlink && call.files().is_open(op.object)) ++call.files().counters.hidden;  // by hide_perhaps()
    call.files().unlinked(op.object);
  }
}

// Performs a rename between two directories.
template <class OpCall>
static Task rename_between(OpCall& call, const FileHandle& from, const FileHandle& to) {
  const Op& op = call.op();
  if (op.flags & RENAME_EXCHANGE) co_return co_await exchange(call, from, to);
  if (op.flags & RENAME_NOREPLACE) {  // the request has no such condition
    call.auxiliary();
    const int error = co_await find_name(call, to, op.name2);
    if (error != ENOENT) co_return error ? error : EEXIST;
  }
  // A recorded rename that failed did not replace a file. If hiding fails, the rename is sent nevertheless, and the server
  // decides.
  if (!call.hid && !op.error && op.object2 != op.object && call.files().is_open(op.object2)) {
    call.auxiliary();
    call.hid = co_await hide(call, to, op.name2, op.object2) == 0;
  }
  const int error = co_await rename_name(call, from, op.name, to, op.name2);
  if (!error && op.object2 != op.object && !call.hid) call.files().unlinked(op.object2);
  if (!error && (op.flags & RENAME_WHITEOUT)) {  // the whiteout that it leaves under the old name
    call.auxiliary();
    co_return co_await make_whiteout(call, from);
  }
  co_return error;
}

}  // namespace fsr::nfs
