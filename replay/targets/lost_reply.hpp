// SPDX-License-Identifier: Apache-2.0
// Finds out what became of an operation that changes the tree and whose reply was lost with its connection. The server may have
// performed it. Sent again at once, it would fail with EEXIST or ENOENT, or would remove what has got the name since. So the
// client looks at the names first:
//   - if they are as the operation leaves them, it is taken as done, and counted. The client learns from the lookup what it
//     made. Names can't prove it: an object that the client never met may have been like that before.
//   - if they are as before, the operation begins again. If it now fails with EEXIST or ENOENT, the server may have performed the
//     first request meanwhile, and the client looks again.
//   - otherwise the operation is lost.
// An operation that was sent only once is never taken as done, nor is one that failed in the capture.
//
// Each protocol has its own OpCall, with the members `harmful` and `sent_twice`, and functions that these templates find by their
// arguments:
//   Task see(OpCall&, ObjectId dir, std::string_view name, Sighting*);  // 0: the server has told whether the name exists
//   Task take_as_done(OpCall&);  // teaches the client what the operation has changed
// The templates are static for the reason in path_protocol.hpp.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.hpp"
#include "op.hpp"
#include "targets/shared_session.hpp"

namespace fsr {

inline constexpr const char* kDoneWithoutReply = "operations assumed done whose reply was lost, not compared";

// The object that the server has under a name.
struct Sighting {
  uint32_t type = 0;              // S_IFMT bits; 0: there is no such name
  uint64_t size = 0;              // bytes
  uint64_t links = 0;             // 0: not known
  uint64_t links_before = 0;      // of the operation's object in the last reply about it; 0: not known
  uint64_t rdev = 0;              // of a device
  bool is_another = false;        // an earlier operation bound it to another id, so it is not new; for must_be_new() alone
  std::optional<bool> is_object;  // it is the operation's object; none: the client does not know that object
  std::string text;               // of a symbolic link
};

enum class LostReply : uint8_t { unknown, not_done, done };

// True: names tell whether the server has performed the operation. False for one whose recorded outcome is not known.
bool shows_in_names(const Op& op);
// True: if the name exists, it must be an object that the operation has made.
bool must_be_new(const Op& op);
// Returns whether `op`, for which shows_in_names() is true, was performed. `name`, `name2`: of Op::name and Op::name2.
LostReply judge(const Op& op, const Sighting& name, const Sighting& name2);

// True: an attempt of the operation ended with `error`, and it is not known whether the operation is done.
template <class OpCall>
bool is_in_doubt(const OpCall& call, int error) {
  if (call.cancelled || !shows_in_names(call.op())) return false;
  return call.harmful ? connection_broke(error) : call.sent_twice && (error == EEXIST || error == ENOENT);
}

template <class OpCall>
static Task look_at_names(OpCall& call, Sighting* name, Sighting* name2) {
  const Op& op = call.op();
  if (op.kind != OpKind::link)
    if (int error = co_await see(call, op.parent, op.name, name)) co_return error;
  if (op.kind == OpKind::link || op.kind == OpKind::rename)
    if (int error = co_await see(call, op.parent2, op.name2, name2)) co_return error;
  co_return 0;
}

// Settles an operation that is_in_doubt() after an attempt that ended with `error`. Returns 0 if it is done, and counts it;
// otherwise `error`. *again: the operation must begin again.
template <class OpCall>
static Task settle(OpCall& call, int error, std::atomic<uint64_t>* done, bool* again) {
  constexpr unsigned kMostLooks = 4;  // on connections that break again
  LostReply state = LostReply::unknown;
  for (unsigned looks = 0; looks < kMostLooks; ++looks) {
    Sighting name, name2;
    int failed = co_await look_at_names(call, &name, &name2);
    state = failed ? LostReply::unknown : judge(call.op(), name, name2);
    if (state == LostReply::done) failed = co_await take_as_done(call);
    if (failed) state = LostReply::unknown;
    if (!connection_broke(failed)) break;
  }
  *again = state == LostReply::not_done && call.harmful;
  if (*again) {
    call.harmful = false;
    call.sent_twice = true;
  }
  if (state != LostReply::done) co_return error;
  ++*done;
  co_return 0;
}

}  // namespace fsr
