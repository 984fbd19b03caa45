// SPDX-License-Identifier: Apache-2.0
// Tests 1 to 8. Bitmaps are numbers, as in the original's log of the wire.
#include <errno.h>
#include <fmt/format.h>

#include "workloads/lantest/afp_tests.hpp"

namespace fsr::lantest {

using namespace afp;

namespace {

constexpr uint16_t kExclusive = 0x0033;     // access: read and write, denied to others
constexpr uint16_t kReadsExclusive = 0x21;  // access: read; writing denied to others
constexpr uint16_t kAllOfFile = 0x073f, kAllOfDir = 0x133f;
constexpr uint16_t kListedOfFile = 0x077d, kListedOfDir = 0x117f;
constexpr uint16_t kListedAtOnce = 40;
constexpr uint32_t kSmall = 512;

}  // namespace

// --- 1: open, stat and read ---

Task AfpTests::make_small(std::string name) {
  constexpr uint32_t kBytes = 20'480;
  if (int error = co_await probe(dir_, name, kObjectNotFound)) co_return error;
  if (int error = co_await parms(dir_, "", 0, kNodeId)) co_return error;
  if (int error = co_await create(dir_, name)) co_return error;
  if (int error = co_await probe(dir_, name)) co_return error;
  if (int error = co_await parms(dir_, name, 0x072e, 0)) co_return error;
  if (int error = co_await parms(dir_, name, kAllOfFile, 0)) co_return error;
  if (int error = co_await open(dir_, name, 0x0342, kExclusive)) co_return error;
  if (int error = co_await fork_parms(0x0242)) co_return error;
  if (int error = co_await write(kBytes)) co_return error;
  co_return co_await close();
}

Task AfpTests::read_small() {
  const unsigned files = settings_.share(1000);
  auto name = [](unsigned i) { return fmt::format("File.small{}", i); };
  for (unsigned i = 0; i < files; ++i)
    if (int error = co_await make_small(name(i))) co_return error;
  if (int error = co_await list(kListedOfFile, kListedOfDir, 1024, 1)) co_return error;
  watch_.start();
  for (unsigned i = 0; i < files; ++i) {
    const std::string file = name(i);
    if (int error = co_await probe(dir_, file)) co_return error;
    if (int error = co_await parms(dir_, file, 0x072d, 0)) co_return error;
    if (int error = co_await parms(dir_, file, kAllOfFile, kAllOfDir)) co_return error;
    if (int error = co_await open(dir_, file, 0x0342, kReadsExclusive)) co_return error;
    if (int error = co_await fork_parms(0x0200)) co_return error;
    if (int error = co_await fork_parms(0x0242)) co_return error;
    if (int error = co_await read(kSmall)) co_return error;
    if (int error = co_await close()) co_return error;
  }
  watch_.stop();
  for (unsigned i = 0; i < files; ++i) {
    if (int error = co_await probe(dir_, name(i))) co_return error;
    if (int error = co_await parms(dir_, name(i), 0, kNodeId)) co_return error;
    if (int error = co_await remove(dir_, name(i))) co_return error;
  }
  co_return co_await Step(*this, commands_.volume_parms(0x0208), "", kOk);
}

// --- Tests 2 and 3: the big file, by commands that do not wait for each other ---

struct AfpTests::Flight {
  unsigned in_flight = 0;
  int error = 0;  // the first error
  std::coroutine_handle<> waiter = {};

  void landed(int e) {
    if (!error) error = e;
    if (--in_flight == 0 && waiter) waiter.resume();
  }
  bool await_ready() const noexcept { return in_flight == 0; }
  void await_suspend(std::coroutine_handle<> h) { waiter = h; }
  int await_resume() const { return error; }
};

Detached AfpTests::fly(Step step, Flight& flight) {
  const int error = co_await step;
  flight.landed(error);
}

Task AfpTests::write_big() {
  const std::string name = kBigFile;
  if (int error = co_await create(dir_, name)) co_return error;
  if (int error = co_await parms(dir_, name, 0x072d, 0)) co_return error;
  if (int error = co_await parms(dir_, name, kAllOfFile, kAllOfDir)) co_return error;
  if (int error = co_await open(dir_, name, 0x0302, kExclusive)) co_return error;
  if (int error = co_await fork_parms(0x0002)) co_return error;
  const uint64_t chunk = zeros_.size();
  Flight flight{.in_flight = unsigned(settings_.big_size / chunk)};
  const unsigned chunks = flight.in_flight;
  watch_.start();
  for (unsigned i = 0; i < chunks; ++i) fly(Step(*this, commands_.write(fork_, i * chunk, zeros_.all()), name, kOk), flight);
  if (int error = co_await flight) co_return error;
  if (int error = co_await close()) co_return error;
  watch_.stop();
  co_return 0;
}

Task AfpTests::read_big() {
  const bool existing = !settings_.big_file.empty();
  const std::string name = existing ? settings_.big_file : kBigFile;
  const uint32_t did = existing ? commands_.root() : dir_;
  if (int error = co_await probe(did, name)) co_return error;
  if (int error = co_await open(did, name, 0x0342, kReadsExclusive)) co_return error;
  if (int error = co_await fork_parms(0x0242)) co_return error;
  const uint64_t chunk = zeros_.size();
  Flight flight{.in_flight = unsigned(settings_.big_size / chunk)};
  const unsigned chunks = flight.in_flight;
  watch_.start();
  for (unsigned i = 0; i < chunks; ++i) fly(Step(*this, commands_.read(fork_, i * chunk, chunk), name, kOk), flight);
  if (int error = co_await flight) co_return error;
  if (int error = co_await close()) co_return error;
  watch_.stop();
  co_return 0;
}

// --- Test 4: locks ---

Task AfpTests::prepare_lock() {
  constexpr uint32_t kBytes = 40'000;
  const std::string name = "File.lock";
  if (int error = co_await probe(dir_, name, kObjectNotFound)) co_return error;
  if (int error = co_await parms(dir_, "", 0, kNodeId)) co_return error;
  if (int error = co_await create(dir_, name)) co_return error;
  if (int error = co_await probe(dir_, name)) co_return error;
  if (int error = co_await parms(dir_, name, 0x0726, 0)) co_return error;
  if (int error = co_await open(dir_, name, 0x0302, kExclusive)) co_return error;
  if (int error = co_await fork_parms(0x0202)) co_return error;
  if (int error = co_await parms(dir_, name, 0x072d, 0)) co_return error;
  if (int error = co_await write(kBytes)) co_return error;
  if (int error = co_await close()) co_return error;
  if (int error = co_await probe(dir_, name)) co_return error;
  if (int error = co_await parms(dir_, name, kAllOfFile, kAllOfDir)) co_return error;
  if (int error = co_await open(dir_, name, 0x0342, kAccessRead)) co_return error;
  if (int error = co_await fork_parms(0x0200)) co_return error;
  if (int error = co_await read(kSmall)) co_return error;
  if (int error = co_await close()) co_return error;
  if (int error = co_await open(dir_, name, 0x0342, kAccessRead | kAccessWrite)) co_return error;
  if (int error = co_await fork_parms(0x0242)) co_return error;
  co_return co_await parms(dir_, name, 0x072d, 0);
}

Task AfpTests::lock_and_unlock() {
  if (int error = co_await prepare_lock()) co_return error;
  const unsigned rounds = settings_.share(250);
  watch_.start();
  for (unsigned round = 0; round < rounds; ++round)
    for (uint32_t offset = 0; offset < 400; offset += 10) {
      if (int error = co_await lock(0, offset)) co_return error;
      if (int error = co_await lock(kUnlock, offset)) co_return error;
    }
  watch_.stop();
  if (int error = co_await probe(dir_, "File.lock")) co_return error;
  if (int error = co_await close()) co_return error;
  co_return co_await remove(dir_, "File.lock");
}

// --- Tests 5, 6, 7: many files in a directory ---

std::string AfpTests::empty_file(unsigned i) { return fmt::format("File.0k{}", i); }

Task AfpTests::create_files() {
  watch_.start();
  for (unsigned i = 1; i <= empty_files(); ++i) {
    if (int error = co_await create(dir_, empty_file(i))) co_return error;
    if (int error = co_await parms(dir_, empty_file(i), 0x0726, 0)) co_return error;
  }
  watch_.stop();
  co_return 0;
}

// Lists some parts in reverse order, as the original does. The last entries are never requested.
Task AfpTests::list_files() {
  const unsigned files = empty_files();
  watch_.start();
  if (int error = co_await list(kListedOfFile, kListedOfDir, kListedAtOnce, 1)) co_return error;
  for (unsigned start = kListedAtOnce + 1; start + 3 * kListedAtOnce - 1 <= files; start += 2 * kListedAtOnce) {
    if (int error = co_await list(kListedOfFile, kListedOfDir, kListedAtOnce, uint16_t(start + kListedAtOnce))) co_return error;
    if (int error = co_await list(kListedOfFile, kListedOfDir, kListedAtOnce, uint16_t(start))) co_return error;
  }
  watch_.stop();
  co_return 0;
}

Task AfpTests::remove_files() {
  watch_.start();
  for (unsigned i = 1; i <= empty_files(); ++i)
    if (int error = co_await remove(dir_, empty_file(i))) co_return error;
  watch_.stop();
  co_return 0;
}

// --- Test 8: a tree ---

// Makes directories, each followed by those in it. For the removal, tree_ has the contents of a directory before the directory.
Task AfpTests::make_dirs(uint32_t did, unsigned count, unsigned depth) {
  constexpr unsigned kWidth = 10;
  for (unsigned i = 1; i <= count; ++i) {
    const std::string name = fmt::format("dir{:02}", i);
    if (int error = co_await make_dir(did, name)) co_return error;
    if (depth > 1)
      if (int error = co_await make_dirs(made_, kWidth, depth - 1)) co_return error;
    tree_.push_back({did, name});
  }
  co_return 0;
}

Task AfpTests::make_tree() {
  tree_.clear();
  watch_.start();
  if (int error = co_await make_dirs(dir_, settings_.share(10), 3)) co_return error;
  watch_.stop();
  for (const MadeDir& dir : tree_)
    if (int error = co_await remove(dir.parent, dir.name)) co_return error;
  co_return 0;
}

}  // namespace fsr::lantest
