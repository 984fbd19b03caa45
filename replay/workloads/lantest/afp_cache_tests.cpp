// SPDX-License-Identifier: Apache-2.0
// Tests 9 to 12, which exercise the server's cache of directories.
#include <fmt/format.h>

#include <vector>

#include "workloads/lantest/afp_tests.hpp"

namespace fsr::lantest {

using namespace afp;

// --- Test 9: cache hits; ten directories of ten files, although its label says otherwise ---

Task AfpTests::hit_cache() {
  constexpr unsigned kDirs = 10, kFiles = 10;
  auto dir_name = [](unsigned i) { return fmt::format("cache_dir_{}", i); };
  auto file_name = [](unsigned i, unsigned j) { return fmt::format("cache_file_{}_{}", i, j); };
  std::vector<uint32_t> dirs;
  for (unsigned i = 0; i < kDirs; ++i) {
    if (int error = co_await make_dir(dir_, dir_name(i))) co_return error;
    dirs.push_back(made_);
  }
  for (unsigned i = 0; i < kDirs; ++i)
    for (unsigned j = 0; j < kFiles; ++j)
      if (int error = co_await create(dirs[i], file_name(i, j))) co_return error;
  const unsigned rounds = settings_.share(100);
  watch_.start();
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned i = 0; i < kDirs; ++i) {
      if (int error = co_await probe(dir_, dir_name(i))) co_return error;
      for (unsigned j = 0; j < kFiles; ++j)
        if (int error = co_await parms(dirs[i], file_name(i, j), 0x0302, 0)) co_return error;
    }
  watch_.stop();
  for (unsigned i = 0; i < kDirs; ++i) {
    for (unsigned j = 0; j < kFiles; ++j)
      if (int error = co_await remove(dirs[i], file_name(i, j))) co_return error;
    if (int error = co_await remove(dir_, dir_name(i))) co_return error;
  }
  co_return 0;
}

// --- Test 10: files are created and removed ---

Task AfpTests::mix() {
  const unsigned files = settings_.share(200);
  watch_.start();
  for (unsigned i = 0; i < files; ++i) {
    const std::string name = fmt::format("mixed_file_{}", i);
    if (int error = co_await create(dir_, name)) co_return error;
    if (int error = co_await parms(dir_, name, 0x0302, 0)) co_return error;
    if (i % 10 == 9)
      if (int error = co_await list(0x0140, 0, 1024, 1)) co_return error;
    if (int error = co_await parms(dir_, name, 0x010c, 0)) co_return error;
    if (int error = co_await remove(dir_, name)) co_return error;
  }
  watch_.stop();
  co_return 0;
}

// --- Test 11: a long path ---

Task AfpTests::walk_deep() {
  constexpr unsigned kLevels = 20, kFiles = 50;
  auto dir_name = [](unsigned level) { return fmt::format("deep_{:02}", level); };
  auto file_name = [](unsigned i) { return fmt::format("deep_file_{}", i); };
  std::vector<uint32_t> path = {dir_};
  for (unsigned level = 0; level < kLevels; ++level) {
    if (int error = co_await make_dir(path.back(), dir_name(level))) co_return error;
    path.push_back(made_);
  }
  const uint32_t deepest = path.back();
  for (unsigned i = 0; i < kFiles; ++i)
    if (int error = co_await create(deepest, file_name(i))) co_return error;
  const unsigned rounds = settings_.share(50);
  watch_.start();
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned level = 0; level < kLevels; ++level)
      if (int error = co_await probe(path[level], dir_name(level))) co_return error;
    for (unsigned i = 0; i < kFiles; ++i)
      if (int error = co_await parms(deepest, file_name(i), 0x0300, 0)) co_return error;
  }
  watch_.stop();
  for (unsigned i = 0; i < kFiles; ++i)
    if (int error = co_await remove(deepest, file_name(i))) co_return error;
  for (unsigned level = kLevels; level-- > 0;)
    if (int error = co_await remove(path[level], dir_name(level))) co_return error;
  co_return 0;
}

// --- Test 12: the same files repeatedly ---

Task AfpTests::validate() {
  constexpr unsigned kFiles = 100;
  auto name = [](unsigned i) { return fmt::format("valid_file_{}", i); };
  for (unsigned i = 0; i < kFiles; ++i)
    if (int error = co_await create(dir_, name(i))) co_return error;
  const unsigned rounds = settings_.share(100);
  watch_.start();
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned i = 0; i < kFiles; ++i)
      for (const uint16_t bitmap : {0x0102, 0x0204, 0x0028})
        if (int error = co_await parms(dir_, name(i), bitmap, 0)) co_return error;
  watch_.stop();
  for (unsigned i = 0; i < kFiles; ++i)
    if (int error = co_await remove(dir_, name(i))) co_return error;
  co_return 0;
}

}  // namespace fsr::lantest
