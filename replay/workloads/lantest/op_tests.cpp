// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/op_tests.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fsr::lantest {

namespace {

constexpr uint64_t kRequest = 8 << 20;  // bytes

}  // namespace

OpTests::OpTests(const Settings& settings, unsigned session, Clock& clock, Barrier* start, CommonStart* common, Told told)
    : settings_(settings),
      start_(start),
      told_(std::move(told)),
      watch_(clock, CLOCK_PROCESS_CPUTIME_ID, nullptr, common),
      name_(test_directory(session)),
      zeros_(kRequest) {}

Actor OpTests::play(Seat& seat) {
  (void)co_await run_all(seat);
  if (start_) seat.leave(*start_);
  leaving_ = true;
  (void)co_await clear(seat);
}

Task OpTests::run_all(Seat& seat) {
  if (int error = co_await make_dir(seat, kRootObject, name_, &dir_)) co_return error;
  for (unsigned iteration = 1; iteration <= settings_.iterations; ++iteration)
    for (unsigned test = 0; test < kTests; ++test) {
      int error = 0;
      if (settings_.tests[test] && possible(seat, Test(test))) {
        error = co_await perform(seat, Test(test));
        if (error && !failure_.empty()) failure_ = fmt::format("iteration {}, test {}: {}", iteration, test + 1, failure_);
        if (error) co_return error;
        results_.runs[test].push_back(watch_.measured());
        for (const auto& [kind, times] : times_) results_.commands[test][op_name(kind)].merge(times);
        times_.clear();
        told_(iteration, test, watch_.measured().measures);
      }
      if (test == kReadBig && big_ != kNoObject) error = co_await remove(seat, std::exchange(big_, kNoObject));
      while (test == kDelete && !files_.empty() && !error) {
        error = co_await remove(seat, files_.back());
        files_.pop_back();
      }
      if (error) co_return error;
    }
  co_return 0;
}

// Of what can't be removed nothing is said twice; removed() tells that something is left.
Task OpTests::clear(Seat& seat) {
  if (handle_) (void)co_await close(seat);
  std::vector<ObjectId> left;
  for (const auto& [object, made] : made_) left.push_back(object);
  for (; !left.empty(); left.pop_back()) (void)co_await remove(seat, left.back());
  co_return 0;
}

bool OpTests::possible(Seat& seat, Test test) {
  const Op lock{.kind = OpKind::setlk, .mode = F_WRLCK};
  if (test != kLock || seat.target().fidelity(lock) != Fidelity::impossible) return true;
  impossible_ = std::to_string(test + 1);
  return false;
}

Task OpTests::begin(Seat& seat) {
  if (start_) {
    const bool together = co_await seat.arrive(*start_);
    if (!together) co_return ECANCELED;
  }
  watch_.start();
  co_return 0;
}

Task OpTests::perform(Seat& seat, Test test) {
  switch (test) {
    case kReadSmall:
      return read_small(seat);
    case kWriteBig:
      return write_big(seat);
    case kReadBig:
      return read_big(seat);
    case kLock:
      return lock_and_unlock(seat);
    case kCreate:
      return create_files(seat);
    case kEnumerate:
      return list_files(seat);
    case kDelete:
      return remove_files(seat);
    case kTree:
      return make_tree(seat);
    case kCacheHits:
      return hit_cache(seat);
    case kMixed:
      return mix(seat);
    case kDeep:
      return walk_deep(seat);
    case kValidate:
      break;
  }
  return validate(seat);
}

// --- operations ---

Task OpTests::step(Seat& seat, const Op& op, const std::string& about, const How& how) {
  const int64_t begun = seat.now();
  const Outcome& outcome = co_await seat.perform(op, kUncounted, how);
  int error = outcome.error;
  if (!error && (op.kind == OpKind::read || op.kind == OpKind::write) && outcome.result != op.length)
    error = op.kind == OpKind::read ? ENODATA : ENOSPC;
  if (op.kind == OpKind::readdir) listed_ = error ? 0 : outcome.entries.size();
  if (watch_.running()) times_[op.kind].add(seat.now() - begun);
  if (error && failure_.empty() && !leaving_) failure_ = fmt::format("{} of '{}': {}", op_name(op.kind), about, strerror(error));
  if (!error && seat.ended() && !leaving_) error = ECANCELED;
  co_return error;
}

Task OpTests::look(Seat& seat, ObjectId parent, const std::string& name, ObjectId known) {
  const Op op{.kind = OpKind::lookup, .object = known, .parent = parent, .name = name};
  co_return co_await step(seat, op, name);
}

Task OpTests::make_dir(Seat& seat, ObjectId parent, const std::string& name, ObjectId* made) {
  const Op op{.kind = OpKind::mkdir, .mode = 0755, .object = seat.new_object(), .parent = parent, .name = name};
  const int error = co_await step(seat, op, name);
  if (error && error != ECANCELED) co_return error;
  made_[op.object] = {parent, name, true};
  *made = op.object;
  co_return error;
}

Task OpTests::create(Seat& seat, ObjectId parent, const std::string& name, ObjectId* made, uint64_t bytes) {
  const Op op{.kind = OpKind::create,
              .mode = 0644,
              .open_flags = O_CREAT | O_EXCL | O_RDWR,
              .object = seat.new_object(),
              .parent = parent,
              .handle = seat.new_handle(),
              .name = name};
  int error = co_await step(seat, op, name);
  if (error && error != ECANCELED) co_return error;
  made_[op.object] = {parent, name, false};
  *made = open_ = op.object;
  handle_ = op.handle;
  if (!error && bytes) error = co_await move_bytes(seat, OpKind::write, bytes);
  if (error) co_return error;
  co_return co_await close(seat);
}

Task OpTests::remove(Seat& seat, ObjectId object) {
  const Made made = made_.at(object);
  const Op op{
      .kind = made.is_directory ? OpKind::rmdir : OpKind::unlink, .object = object, .parent = made.parent, .name = made.name};
  const int error = co_await step(seat, op, made.name);
  if (!error || error == ECANCELED) made_.erase(object);
  co_return error;
}

Task OpTests::open(Seat& seat, ObjectId object, uint32_t flags) {
  const Op op{.kind = OpKind::open, .open_flags = flags, .object = object, .handle = seat.new_handle()};
  const int error = co_await step(seat, op, "a file");
  if (error && error != ECANCELED) co_return error;
  open_ = object;
  handle_ = op.handle;
  co_return error;
}

Task OpTests::close(Seat& seat) {
  const Op op{.kind = OpKind::release, .object = open_, .handle = std::exchange(handle_, 0)};
  co_return co_await step(seat, op, "a file");
}

Task OpTests::move_bytes(Seat& seat, OpKind kind, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t length = std::min(bytes - done, kRequest);
    const Op op{.kind = kind, .object = open_, .handle = handle_, .offset = done, .length = length};
    const How how{.payload = zeros_.first(kind == OpKind::write ? size_t(length) : 0)};
    if (int error = co_await step(seat, op, "a file", how)) co_return error;
    done += length;
  }
  co_return 0;
}

}  // namespace fsr::lantest
