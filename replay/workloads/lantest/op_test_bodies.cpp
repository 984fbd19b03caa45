// SPDX-License-Identifier: Apache-2.0
// The tests as operations. afp_file_tests.cpp and afp_cache_tests.cpp have them as AFP commands.
#include <fcntl.h>
#include <fmt/format.h>

#include "workloads/lantest/op_tests.hpp"

namespace fsr::lantest {

Task OpTests::read_small(SimContext& sim) {
  constexpr uint64_t kBytes = 20'480, kRead = 512;
  const unsigned count = settings_.share(1000);
  auto name = [](unsigned i) { return fmt::format("File.small{}", i); };
  std::vector<ObjectId> files(count);
  for (unsigned i = 0; i < count; ++i)
    if (int error = co_await create(sim, dir_, name(i), &files[i], kBytes)) co_return error;
  if (int error = co_await begin(sim)) co_return error;
  for (unsigned i = 0; i < count; ++i) {
    const std::string file = name(i);
    for (unsigned times = 0; times < 3; ++times)
      if (int error = co_await look(sim, dir_, file, files[i])) co_return error;
    if (int error = co_await open(sim, files[i], O_RDONLY)) co_return error;
    const Op getattr{.kind = OpKind::getattr, .object = files[i], .handle = handle_};
    for (unsigned times = 0; times < 2; ++times)
      if (int error = co_await step(sim, getattr, file)) co_return error;
    if (int error = co_await move_bytes(sim, OpKind::read, kRead)) co_return error;
    if (int error = co_await close(sim)) co_return error;
  }
  watch_.stop();
  for (const ObjectId file : files)
    if (int error = co_await remove(sim, file)) co_return error;
  co_return 0;
}

Task OpTests::write_big(SimContext& sim) {
  const std::string name = "File.big";
  if (int error = co_await create(sim, dir_, name, &big_)) co_return error;
  if (int error = co_await open(sim, big_, O_RDWR)) co_return error;
  if (int error = co_await begin(sim)) co_return error;
  if (int error = co_await move_bytes(sim, OpKind::write, settings_.big_size)) co_return error;
  if (int error = co_await close(sim)) co_return error;
  watch_.stop();
  co_return 0;
}

Task OpTests::read_big(SimContext& sim) {
  ObjectId file = big_;
  if (!settings_.big_file.empty()) {
    file = sim.new_object();
    if (int error = co_await look(sim, kRootObject, settings_.big_file, file)) co_return error;
  }
  if (int error = co_await open(sim, file, O_RDONLY)) co_return error;
  if (int error = co_await begin(sim)) co_return error;
  if (int error = co_await move_bytes(sim, OpKind::read, settings_.big_size)) co_return error;
  if (int error = co_await close(sim)) co_return error;
  watch_.stop();
  co_return 0;
}

Task OpTests::lock_and_unlock(SimContext& sim) {
  constexpr uint64_t kBytes = 40'000, kLocked = 10;
  const std::string name = "File.lock";
  ObjectId file;
  if (int error = co_await create(sim, dir_, name, &file, kBytes)) co_return error;
  if (int error = co_await open(sim, file, O_RDWR)) co_return error;
  const unsigned rounds = settings_.share(250);
  Op op{.kind = OpKind::setlk, .object = file, .handle = handle_, .length = kLocked, .owner = 1};
  if (int error = co_await begin(sim)) co_return error;
  for (unsigned round = 0; round < rounds; ++round)
    for (op.offset = 0; op.offset < 400; op.offset += kLocked)
      for (const uint32_t kind : {F_WRLCK, F_UNLCK}) {
        op.mode = kind;
        if (int error = co_await step(sim, op, name)) co_return error;
      }
  watch_.stop();
  if (int error = co_await close(sim)) co_return error;
  co_return co_await remove(sim, file);
}

Task OpTests::create_files(SimContext& sim) {
  const unsigned count = settings_.share(2000);
  if (int error = co_await begin(sim)) co_return error;
  for (unsigned i = 1; i <= count; ++i) {
    const std::string name = fmt::format("File.0k{}", i);
    ObjectId file;
    if (int error = co_await create(sim, dir_, name, &file)) co_return error;
    files_.push_back(file);
    if (int error = co_await look(sim, dir_, name, file)) co_return error;
  }
  watch_.stop();
  co_return 0;
}

// Lists the whole test directory.
Task OpTests::list(SimContext& sim) {
  constexpr uint64_t kBytes = 8192;
  const Op begin{.kind = OpKind::opendir, .open_flags = O_RDONLY | O_DIRECTORY, .object = dir_, .handle = sim.new_handle()};
  if (int error = co_await step(sim, begin, name_)) co_return error;
  Op op{.kind = OpKind::readdir, .object = dir_, .handle = begin.handle, .length = kBytes};
  int error = 0;
  do {
    op.offset += listed_;
    error = co_await step(sim, op, name_);
  } while (!error && listed_);
  const Op end{.kind = OpKind::releasedir, .object = dir_, .handle = begin.handle};
  const int closed = co_await step(sim, end, name_);
  listed_ = 0;
  co_return error ? error : closed;
}

Task OpTests::list_files(SimContext& sim) {
  if (int error = co_await begin(sim)) co_return error;
  if (int error = co_await list(sim)) co_return error;
  watch_.stop();
  co_return 0;
}

Task OpTests::remove_files(SimContext& sim) {
  if (int error = co_await begin(sim)) co_return error;
  for (const ObjectId file : files_)
    if (int error = co_await remove(sim, file)) co_return error;
  watch_.stop();
  files_.clear();
  co_return 0;
}

Task OpTests::make_dirs(SimContext& sim, ObjectId parent, unsigned count, unsigned depth) {
  constexpr unsigned kWidth = 10;
  for (unsigned i = 1; i <= count; ++i) {
    ObjectId made;
    if (int error = co_await make_dir(sim, parent, fmt::format("dir{:02}", i), &made)) co_return error;
    if (depth == 1) continue;
    if (int error = co_await make_dirs(sim, made, kWidth, depth - 1)) co_return error;
  }
  co_return 0;
}

Task OpTests::make_tree(SimContext& sim) {
  const ObjectId before = made_.rbegin()->first;
  if (int error = co_await begin(sim)) co_return error;
  if (int error = co_await make_dirs(sim, dir_, settings_.share(10), 3)) co_return error;
  watch_.stop();
  while (made_.rbegin()->first != before)
    if (int error = co_await remove(sim, made_.rbegin()->first)) co_return error;
  co_return 0;
}

Task OpTests::hit_cache(SimContext& sim) {
  constexpr unsigned kDirs = 10, kFiles = 10;
  auto dir_name = [](unsigned i) { return fmt::format("cache_dir_{}", i); };
  auto file_name = [](unsigned i, unsigned j) { return fmt::format("cache_file_{}_{}", i, j); };
  ObjectId dirs[kDirs], files[kDirs][kFiles];
  for (unsigned i = 0; i < kDirs; ++i) {
    if (int error = co_await make_dir(sim, dir_, dir_name(i), &dirs[i])) co_return error;
    for (unsigned j = 0; j < kFiles; ++j)
      if (int error = co_await create(sim, dirs[i], file_name(i, j), &files[i][j])) co_return error;
  }
  const unsigned rounds = settings_.share(100);
  if (int error = co_await begin(sim)) co_return error;
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned i = 0; i < kDirs; ++i) {
      if (int error = co_await look(sim, dir_, dir_name(i), dirs[i])) co_return error;
      for (unsigned j = 0; j < kFiles; ++j)
        if (int error = co_await look(sim, dirs[i], file_name(i, j), files[i][j])) co_return error;
    }
  watch_.stop();
  while (made_.rbegin()->first >= dirs[0])
    if (int error = co_await remove(sim, made_.rbegin()->first)) co_return error;
  co_return 0;
}

Task OpTests::mix(SimContext& sim) {
  const unsigned count = settings_.share(200);
  if (int error = co_await begin(sim)) co_return error;
  for (unsigned i = 0; i < count; ++i) {
    const std::string name = fmt::format("mixed_file_{}", i);
    ObjectId file;
    if (int error = co_await create(sim, dir_, name, &file)) co_return error;
    if (int error = co_await look(sim, dir_, name, file)) co_return error;
    if (i % 10 == 9)
      if (int error = co_await list(sim)) co_return error;
    if (int error = co_await look(sim, dir_, name, file)) co_return error;
    if (int error = co_await remove(sim, file)) co_return error;
  }
  watch_.stop();
  co_return 0;
}

Task OpTests::walk_deep(SimContext& sim) {
  constexpr unsigned kLevels = 20, kFiles = 50;
  auto dir_name = [](unsigned level) { return fmt::format("deep_{:02}", level); };
  auto file_name = [](unsigned i) { return fmt::format("deep_file_{}", i); };
  std::vector<ObjectId> path = {dir_}, files(kFiles);
  for (unsigned level = 0; level < kLevels; ++level) {
    ObjectId made;
    if (int error = co_await make_dir(sim, path.back(), dir_name(level), &made)) co_return error;
    path.push_back(made);
  }
  for (unsigned i = 0; i < kFiles; ++i)
    if (int error = co_await create(sim, path.back(), file_name(i), &files[i])) co_return error;
  const unsigned rounds = settings_.share(50);
  if (int error = co_await begin(sim)) co_return error;
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned level = 0; level < kLevels; ++level)
      if (int error = co_await look(sim, path[level], dir_name(level), path[level + 1])) co_return error;
    for (unsigned i = 0; i < kFiles; ++i)
      if (int error = co_await look(sim, path.back(), file_name(i), files[i])) co_return error;
  }
  watch_.stop();
  while (made_.rbegin()->first >= path[1])
    if (int error = co_await remove(sim, made_.rbegin()->first)) co_return error;
  co_return 0;
}

Task OpTests::validate(SimContext& sim) {
  constexpr unsigned kFiles = 100;
  auto name = [](unsigned i) { return fmt::format("valid_file_{}", i); };
  std::vector<ObjectId> files(kFiles);
  for (unsigned i = 0; i < kFiles; ++i)
    if (int error = co_await create(sim, dir_, name(i), &files[i])) co_return error;
  const unsigned rounds = settings_.share(100);
  if (int error = co_await begin(sim)) co_return error;
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned i = 0; i < kFiles; ++i)
      for (unsigned times = 0; times < 3; ++times)
        if (int error = co_await look(sim, dir_, name(i), files[i])) co_return error;
  watch_.stop();
  for (const ObjectId file : files)
    if (int error = co_await remove(sim, file)) co_return error;
  co_return 0;
}

}  // namespace fsr::lantest
