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

OpTests::OpTests(const Settings& settings, unsigned session, Clock& clock, Barrier* start, CommonStart* common, ReportTest report)
    : settings_(settings),
      start_(start),
      report_(std::move(report)),
      watch_(clock, CLOCK_PROCESS_CPUTIME_ID, nullptr, common),
      name_(test_directory(session)),
      zeros_(kRequest) {}

SimTask OpTests::run(SimContext& sim) {
  (void)co_await run_all(sim);
  if (start_) sim.leave(*start_);
  leaving_ = true;
  (void)co_await clear(sim);
}

Task OpTests::run_all(SimContext& sim) {
  if (int error = co_await make_dir(sim, kRootObject, name_, &dir_)) co_return error;
  for (unsigned iteration = 1; iteration <= settings_.iterations; ++iteration)
    for (unsigned test = 0; test < kTests; ++test) {
      int error = 0;
      if (settings_.tests[test] && possible(sim, Test(test))) {
        error = co_await perform(sim, Test(test));
        if (error && !failure_.empty()) failure_ = fmt::format("iteration {}, test {}: {}", iteration, test + 1, failure_);
        if (error) co_return error;
        results_.runs[test].push_back(watch_.measured());
        for (const auto& [kind, times] : times_) results_.commands[test][op_name(kind)].merge(times);
        times_.clear();
        report_(iteration, test, watch_.measured().measures);
      }
      if (test == kReadBig && big_ != kNoObject) error = co_await remove(sim, std::exchange(big_, kNoObject));
      while (test == kDelete && !files_.empty() && !error) {
        error = co_await remove(sim, files_.back());
        files_.pop_back();
      }
      if (error) co_return error;
    }
  co_return 0;
}

// Removes all files without further reports; removed() is false if some stay.
Task OpTests::clear(SimContext& sim) {
  if (handle_) (void)co_await close(sim);
  std::vector<ObjectId> left;
  for (const auto& [object, made] : made_) left.push_back(object);
  for (; !left.empty(); left.pop_back()) (void)co_await remove(sim, left.back());
  co_return 0;
}

bool OpTests::possible(SimContext& sim, Test test) {
  const Op lock{.kind = OpKind::setlk, .mode = F_WRLCK};
  if (test != kLock || sim.target().fidelity(lock) != Fidelity::impossible) return true;
  impossible_ = std::to_string(test + 1);
  return false;
}

Task OpTests::begin(SimContext& sim) {
  if (start_) {
    const bool together = co_await sim.arrive(*start_);
    if (!together) co_return ECANCELED;
  }
  watch_.start();
  co_return 0;
}

Task OpTests::perform(SimContext& sim, Test test) {
  switch (test) {
    case kReadSmall:
      return read_small(sim);
    case kWriteBig:
      return write_big(sim);
    case kReadBig:
      return read_big(sim);
    case kLock:
      return lock_and_unlock(sim);
    case kCreate:
      return create_files(sim);
    case kEnumerate:
      return list_files(sim);
    case kDelete:
      return remove_files(sim);
    case kTree:
      return make_tree(sim);
    case kCacheHits:
      return hit_cache(sim);
    case kMixed:
      return mix(sim);
    case kDeep:
      return walk_deep(sim);
    case kValidate:
      break;
  }
  return validate(sim);
}

// --- operations ---

Task OpTests::step(SimContext& sim, const Op& op, const std::string& about, const PerformOptions& how) {
  const int64_t begun = sim.now();
  const Outcome& outcome = co_await sim.perform(op, kUncounted, how);
  int error = outcome.error;
  if (!error && (op.kind == OpKind::read || op.kind == OpKind::write) && outcome.result != op.length)
    error = op.kind == OpKind::read ? ENODATA : ENOSPC;
  if (op.kind == OpKind::readdir) listed_ = error ? 0 : outcome.entries.size();
  if (watch_.running()) times_[op.kind].add(sim.now() - begun);
  if (error && failure_.empty() && !leaving_) failure_ = fmt::format("{} of '{}': {}", op_name(op.kind), about, strerror(error));
  if (!error && sim.ended() && !leaving_) error = ECANCELED;
  co_return error;
}

Task OpTests::look(SimContext& sim, ObjectId parent, const std::string& name, ObjectId known) {
  const Op op{.kind = OpKind::lookup, .object = known, .parent = parent, .name = name};
  co_return co_await step(sim, op, name);
}

Task OpTests::make_dir(SimContext& sim, ObjectId parent, const std::string& name, ObjectId* made) {
  const Op op{.kind = OpKind::mkdir, .mode = 0755, .object = sim.new_object(), .parent = parent, .name = name};
  const int error = co_await step(sim, op, name);
  if (error && error != ECANCELED) co_return error;
  made_[op.object] = {parent, name, true};
  *made = op.object;
  co_return error;
}

Task OpTests::create(SimContext& sim, ObjectId parent, const std::string& name, ObjectId* made, uint64_t bytes) {
  const Op op{.kind = OpKind::create,
              .mode = 0644,
              .open_flags = O_CREAT | O_EXCL | O_RDWR,
              .object = sim.new_object(),
              .parent = parent,
              .handle = sim.new_handle(),
              .name = name};
  int error = co_await step(sim, op, name);
  if (error && error != ECANCELED) co_return error;
  made_[op.object] = {parent, name, false};
  *made = open_ = op.object;
  handle_ = op.handle;
  if (!error && bytes) error = co_await move_bytes(sim, OpKind::write, bytes);
  if (error) co_return error;
  co_return co_await close(sim);
}

Task OpTests::remove(SimContext& sim, ObjectId object) {
  const Made made = made_.at(object);
  const Op op{
      .kind = made.is_directory ? OpKind::rmdir : OpKind::unlink, .object = object, .parent = made.parent, .name = made.name};
  const int error = co_await step(sim, op, made.name);
  if (!error || error == ECANCELED) made_.erase(object);
  co_return error;
}

Task OpTests::open(SimContext& sim, ObjectId object, uint32_t flags) {
  const Op op{.kind = OpKind::open, .open_flags = flags, .object = object, .handle = sim.new_handle()};
  const int error = co_await step(sim, op, "a file");
  if (error && error != ECANCELED) co_return error;
  open_ = object;
  handle_ = op.handle;
  co_return error;
}

Task OpTests::close(SimContext& sim) {
  const Op op{.kind = OpKind::release, .object = open_, .handle = std::exchange(handle_, 0)};
  co_return co_await step(sim, op, "a file");
}

Task OpTests::move_bytes(SimContext& sim, OpKind kind, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t length = std::min(bytes - done, kRequest);
    const Op op{.kind = kind, .object = open_, .handle = handle_, .offset = done, .length = length};
    const PerformOptions how{.payload = zeros_.first(kind == OpKind::write ? size_t(length) : 0)};
    if (int error = co_await step(sim, op, "a file", how)) co_return error;
    done += length;
  }
  co_return 0;
}

}  // namespace fsr::lantest
