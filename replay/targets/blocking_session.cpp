// SPDX-License-Identifier: Apache-2.0
#include "targets/blocking_session.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/clock.hpp"

namespace fsr {

BlockingSession::BlockingSession(Target& target, Clock& clock, int64_t timeout)
    : target_(target),
      clock_(clock),
      timeout_(timeout),
      session_(target.open_session()),
      request_(std::make_unique<TargetRequest>()) {}

BlockingSession::~BlockingSession() { session_.reset(); }  // before the request that an operation in flight refers to

const Outcome& BlockingSession::perform(const Op& op, std::string_view payload) {
  if (op_.kind != OpKind::null && !done_) {  // an earlier operation had no reply: the session is lost
    request_->outcome.error = ETIMEDOUT;
    return request_->outcome;
  }
  op_ = op;
  *request_ = TargetRequest{.op = &op_, .who = {op.uid, op.gid}, .payload = payload, .want_data = true};
  done_ = false;
  if (target_.fidelity(op) == Fidelity::impossible) {
    request_->outcome.error = EOPNOTSUPP;
    done_ = true;
    return request_->outcome;
  }
  const int64_t begun = clock_.now();
  auto in_time = [&] { return clock_.now() < begun + timeout_ && !clock_.given_up(begun); };
  auto wait = [&] { session_->poll(clock_.look_again(begun + timeout_), -1, *this); };
  Submit submitted;
  while ((submitted = session_->submit(*request_)) == Submit::busy && in_time()) wait();
  if (submitted == Submit::completed) keep();
  while (!done_ && in_time()) wait();
  if (!done_) request_->outcome.error = clock_.given_up(begun) ? EINTR : ETIMEDOUT;
  return request_->outcome;
}

void BlockingSession::completed(TargetRequest&) { keep(); }

void BlockingSession::keep() {
  arena_.clear();
  Outcome& o = request_->outcome;
  Op copy = copy_op(Op{.data = o.data, .entries = o.entries}, arena_);
  o.data = copy.data;
  o.entries = copy.entries;
  done_ = true;
}

bool is_empty(BlockingSession& session, ObjectId directory, int* error) {
  constexpr HandleId kProbeHandle = HandleId(1) << 62;
  *error = session.perform({.kind = OpKind::opendir, .object = directory, .handle = kProbeHandle}).error;
  if (*error) return false;
  // Not `directory`, from whose entries targets leave fsreplay's own marker out: a root that holds it is in use.
  const Outcome& outcome =
      session.perform({.kind = OpKind::readdir, .object = kProbeObject, .handle = kProbeHandle, .length = 4096, .result = 1});
  *error = outcome.error;
  const bool found = !outcome.entries.empty();
  session.perform({.kind = OpKind::releasedir, .object = directory, .handle = kProbeHandle});
  return !*error && !found;
}

bool root_is_empty(Target& target, Clock& clock) {
  BlockingSession session(target, clock);
  int error = 0;
  const bool empty = is_empty(session, kRootObject, &error);
  if (error) throw std::runtime_error(target.name() + ": its root can't be listed: " + strerror(error));
  return empty;
}

void release_all(Target& target, Clock& clock, const std::vector<HandleId>& handles) {
  if (handles.empty()) return;
  constexpr int64_t kSoon = 1'000'000'000;  // ns
  BlockingSession session(target, clock, kSoon);
  for (HandleId handle : handles) session.perform({.kind = OpKind::release, .handle = handle});
}

}  // namespace fsr
