// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "workloads/vdbench/files/tree_threads.hpp"

namespace fsr::vdbench {

namespace {

constexpr int64_t kLookForDirectory = 200'000;  // ns between checks for directories that another rank makes

}  // namespace

Task FormatThread::make_file(SimContext& sim, uint32_t file) {
  const uint64_t size = anchor_.structure().size_of(file), unit = settings().transfers.largest();
  const Anchor::File& its = anchor_.file(file);
  if (its.exists && its.current == size) {
    ++events_[kFileMayNotExist];
    co_return 0;
  }
  const bool makes = !its.exists;
  const int64_t from = sim.now();
  Open opened;
  anchor_.claim(file, true);  // no other thread has this file
  if (co_await open(sim, anchor_, file, false, true, &opened)) {
    anchor_.release(file);
    co_return 0;
  }
  for (uint64_t offset = its.current / unit * unit; offset < size && !sim.ended();) {
    const uint64_t length = std::min(unit, size - offset);
    const Op write{.kind = OpKind::write, .object = its.object, .handle = opened.handle, .offset = offset, .length = length};
    const int error = co_await transfer_some(sim, write, file, 0);
    if (error == Validator::kOver) break;
    if (error) {
      failed(fmt::format("write lba={} size={}", offset, length), anchor_, anchor_.structure().file_path(file), error, offset,
             length);
      break;
    }
    anchor_.resized(file, offset += length);
  }
  co_await close(sim, anchor_, opened);
  if (makes) sim.count(row(Operation::create), {.due = from, .from = from, .to = sim.now()});
  co_return 0;
}

Task FormatThread::make_directories(SimContext& sim) {
  const Structure& structure = anchor_.structure();
  if (shared_.report_made) {
    for (unsigned depth = 1; depth <= structure.depth(); ++depth) {
      for (uint64_t d = structure.level(depth) + turn_; d < structure.level(depth + 1) && !sim.ended(); d += shared_.threads) {
        if (anchor_.exists(d))
          ++events_[kDirExists];
        else
          co_await make_directory(sim, d, 0);
      }
      const bool together = co_await sim.arrive(shared_.levels);
      if (!together) co_return ECANCELED;
    }
    shared_.report_made();
    co_return 0;
  }
  while (!shared_.made()) {
    co_await sim.until(sim.now() + kLookForDirectory);
    if (sim.ended()) co_return ECANCELED;
  }
  for (uint64_t d = turn_; d < structure.directories(); d += shared_.threads)
    if (!anchor_.exists(d)) anchor_.made_directory(d, kNoObject);
  const bool together = co_await sim.arrive(shared_.levels);
  co_return together ? 0 : ECANCELED;
}

SimTask FormatThread::run(SimContext& sim) {
  if (format_.clean) co_return;  // old files were removed before
  const int error = co_await make_directories(sim);
  if (error || format_.directories) co_return;
  const std::vector<uint32_t>& used = anchor_.chosen();
  for (uint64_t n; (n = shared_.next.fetch_add(1)) < used.size() && !sim.ended();) co_await make_file(sim, used[n]);
}

}  // namespace fsr::vdbench
