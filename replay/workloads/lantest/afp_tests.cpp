// SPDX-License-Identifier: Apache-2.0
#include "workloads/lantest/afp_tests.hpp"

#include <errno.h>
#include <fmt/format.h>

#include <cstring>

namespace fsr::lantest {

using namespace afp;

namespace {

constexpr uint16_t kProbe = 0x0042;  // bitmap: parent and long name
constexpr uint16_t kListing = 1024;  // entries requested at once
constexpr uint16_t kListingBytes = 8192;

}  // namespace

AfpTests::AfpTests(Commands& commands, const Settings& settings, unsigned session, Stopwatch& watch, const std::atomic<int>& stop,
                   Trace trace)
    : commands_(commands),
      settings_(settings),
      watch_(watch),
      stop_(stop),
      name_(test_directory(session)),
      zeros_(commands.write_size()),
      trace_(std::move(trace)) {}

// --- the test directory ---

Task AfpTests::enter() {
  const uint32_t root = commands_.root();
  if (int error = co_await parms(root, "", 0, kNodeId)) co_return error;
  const Reply& old = co_await commands_.parms(root, name_, kProbe, kProbe);
  if (old.result == kOk && !old.error) {
    const int error = co_await leave();
    leaving_ = false;
    if (error) co_return error;
  }
  if (int error = co_await make_dir(root, name_)) co_return error;
  dir_ = made_;
  if (int error = co_await parms(dir_, "", 0, kNodeId)) co_return error;
  co_return co_await probe(root, name_);
}

Task AfpTests::leave() {
  leaving_ = true;
  if (fork_open_) (void)co_await close();
  const uint32_t root = commands_.root();
  const Reply& removed = co_await commands_.remove(root, name_);
  if (!removed.error || removed.result == kObjectNotFound) co_return 0;
  if (removed.result == kOk) co_return removed.error;  // error of the connection
  const Reply& found = co_await commands_.parms(root, name_, 0, kNodeId);
  if (found.error) co_return found.error;
  if (int error = co_await clear(found.parms.id)) co_return error;
  const Reply& now_empty = co_await commands_.remove(root, name_);
  co_return now_empty.error;
}

// Removes all entries of a directory. Entries that can't be removed stay at the front, so the listing continues behind them.
Task AfpTests::clear(uint32_t did) {
  struct Entry {
    std::string name;
    uint32_t id;
    bool is_dir;
  };
  for (uint16_t kept = 0;;) {
    const Reply& reply =
        co_await commands_.enumerate(did, kName | kNodeId, kName | kNodeId, kListing, uint16_t(kept + 1), kListingBytes);
    if (reply.result == kObjectNotFound) co_return 0;
    if (reply.error) co_return reply.error;
    std::vector<Entry> entries;
    for (const Parms& p : reply.entries) entries.push_back({std::string(p.name), p.id, p.is_dir});
    if (entries.empty()) co_return EIO;
    for (const Entry& entry : entries) {
      if (entry.is_dir) (void)co_await clear(entry.id);
      const Reply& removed = co_await commands_.remove(did, entry.name);
      if (removed.error && removed.result == kOk) co_return removed.error;
      if (removed.error) ++kept;
    }
  }
}

Task AfpTests::perform(Test test) {
  switch (test) {
    case kReadSmall:
      return read_small();
    case kWriteBig:
      return write_big();
    case kReadBig:
      return read_big();
    case kLock:
      return lock_and_unlock();
    case kCreate:
      return create_files();
    case kEnumerate:
      return list_files();
    case kDelete:
      return remove_files();
    case kTree:
      return make_tree();
    case kCacheHits:
      return hit_cache();
    case kMixed:
      return mix();
    case kDeep:
      return walk_deep();
    case kValidate:
      break;
  }
  return validate();
}

// If test 5 runs without test 7, the original leaves its files and fails in the next iteration.
Task AfpTests::clean_behind(Test test) {
  if (test == kReadBig && settings_.tests[kWriteBig]) {
    const Reply& reply = co_await commands_.remove(dir_, kBigFile);
    co_return reply.result == kOk ? reply.error : 0;
  }
  if (test != kDelete || !settings_.tests[kCreate] || settings_.tests[kDelete]) co_return 0;
  for (unsigned i = 1; i <= empty_files(); ++i)
    if (int error = co_await remove(dir_, empty_file(i))) co_return error;
  co_return 0;
}

// --- commands ---

int AfpTests::judge(const Step& step, const Reply& reply) {
  const int64_t took = watch_.now() - step.begun_;
  if (watch_.running()) times_[step.command_].add(took);
  const bool unanswered = reply.result == kOk && reply.error;
  if (unanswered || reply.result != step.expected_ || trace_) {
    const std::string came = unanswered ? strerror(reply.error) : result_name(reply.result);
    const std::string about = step.name_.empty() ? "" : fmt::format(" of '{}'", step.name_);
    const std::string text = fmt::format("{}{}: {}", command_name(step.command_), about, came);
    if (trace_) trace_(fmt::format("{}, {:.1f} us{}", text, double(took) / 1e3, watch_.running() ? ", measured" : ""));
    if (unanswered || reply.result != step.expected_) {
      if (failure_.text.empty()) failure_ = {step.command_, unanswered, text};
      return reply.error ? reply.error : EIO;
    }
  }
  if (step.command_ == Command::open_fork) fork_ = reply.fork;
  if (step.command_ == Command::open_fork || step.command_ == Command::close_fork)
    fork_open_ = step.command_ == Command::open_fork;
  if (step.command_ == Command::create_dir) made_ = reply.parms.id;
  return stop_.load(std::memory_order_relaxed) && !leaving_ ? ECANCELED : 0;
}

AfpTests::Step AfpTests::parms(uint32_t did, std::string name, uint16_t file_bitmap, uint16_t dir_bitmap, int32_t expected) {
  const Commands::ReplyAwaiter answer = commands_.parms(did, name, file_bitmap, dir_bitmap);
  return {*this, answer, std::move(name), expected};
}
AfpTests::Step AfpTests::probe(uint32_t did, std::string name, int32_t expected) {
  return parms(did, std::move(name), kProbe, kProbe, expected);
}
AfpTests::Step AfpTests::create(uint32_t did, std::string name) {
  const Commands::ReplyAwaiter answer = commands_.create_file(did, name);
  return {*this, answer, std::move(name), kOk};
}
AfpTests::Step AfpTests::make_dir(uint32_t did, std::string name) {
  const Commands::ReplyAwaiter answer = commands_.create_dir(did, name);
  return {*this, answer, std::move(name), kOk};
}
AfpTests::Step AfpTests::remove(uint32_t did, std::string name) {
  const Commands::ReplyAwaiter answer = commands_.remove(did, name);
  return {*this, answer, std::move(name), kOk};
}
AfpTests::Step AfpTests::open(uint32_t did, std::string name, uint16_t bitmap, uint16_t access) {
  const Commands::ReplyAwaiter answer = commands_.open_fork(did, name, bitmap, access);
  return {*this, answer, std::move(name), kOk};
}
AfpTests::Step AfpTests::fork_parms(uint16_t bitmap) { return {*this, commands_.fork_parms(fork_, bitmap), "", kOk}; }
AfpTests::Step AfpTests::close() { return {*this, commands_.close_fork(fork_), "", kOk}; }
AfpTests::Step AfpTests::read(uint32_t bytes) { return {*this, commands_.old_read(fork_, 0, bytes), "", kOk}; }
AfpTests::Step AfpTests::write(uint32_t bytes) { return {*this, commands_.old_write(fork_, 0, zeros_.first(bytes)), "", kOk}; }
AfpTests::Step AfpTests::lock(uint8_t flags, uint32_t offset) {
  constexpr uint32_t kLocked = 10;  // bytes
  return {*this, commands_.old_lock(flags, fork_, offset, kLocked), "", kOk};
}
AfpTests::Step AfpTests::list(uint16_t file_bitmap, uint16_t dir_bitmap, uint16_t count, uint16_t start) {
  return {*this, commands_.old_enumerate(dir_, file_bitmap, dir_bitmap, count, start, kListingBytes), "", kOk};
}

}  // namespace fsr::lantest
