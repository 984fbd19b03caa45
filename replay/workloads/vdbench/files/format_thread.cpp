// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/payload.hpp"
#include "workloads/vdbench/files/lookups.hpp"
#include "workloads/vdbench/files/tree_threads.hpp"

namespace fsr::vdbench {

namespace {

constexpr int64_t kLookAgain = 200'000;  // ns between checks for directories that another rank makes

}  // namespace

void FormatThread::failed(const std::string& what, const std::string& path, int error, uint64_t lba, uint64_t size) {
  context_.run.errors.add(
      fmt::format("format fsd anchor={} file={} operation={}: {}", context_.anchor.name(), path, what, strerror(error)),
      {context_.anchor.name() + "/" + path, lba, size, error});
}

Task FormatThread::make_directory(SimContext& sim, uint64_t directory) {
  Anchor& anchor = context_.anchor;
  const Structure& structure = anchor.structure();
  if (anchor.exists(directory)) {
    ++events_[kDirExists];
    co_return 0;
  }
  const std::string name = structure.directory_name(directory);
  Op op{.kind = OpKind::mkdir, .mode = 0777 & ~context_.run.umask};
  op.object = sim.new_object();
  op.parent = anchor.object_of_directory(structure.parent_of(directory));
  op.name = name;
  if (int error = (co_await sim.perform(op, row_of(context_.number, Operation::mkdir))).error) {
    failed("mkdir", structure.directory_path(directory), error);
  } else {
    anchor.made_directory(directory, op.object);
    ++events_[kDirectoryCreates];
  }
  co_return 0;
}

// Returns an errno, EIO for a short transfer, or Validator::kOver.
Task FormatThread::write(SimContext& sim, const Op& op, uint32_t file) {
  const Row row = row_of(context_.number, Operation::write);
  if (validator_) {
    const int checked = co_await validator_->perform(sim, op, row, 0, context_.anchor.base_of(file));
    co_return checked;
  }
  PerformOptions how{.generated = context_.content == nullptr};
  if (context_.content)
    how.payload = writer_.get(*context_.content, op.offset, op.length, context_.content_row->begin_of(file));
  else
    how.payload = Payload::shared().get(op.object, op.offset, size_t(op.length), scratch_);
  const Outcome& done = co_await sim.perform(op, row, how);
  if (done.error) co_return done.error;
  co_return done.result == op.length ? 0 : EIO;
}

Task FormatThread::make_file(SimContext& sim, uint32_t file) {
  Anchor& anchor = context_.anchor;
  const Structure& structure = anchor.structure();
  const FileWorkload& settings = context_.work.workload;
  const uint64_t size = structure.size_of(file), unit = settings.transfers.largest();
  Anchor::File& its = anchor.file(file);
  if (its.exists && its.current == size) {
    ++events_[kFileMayNotExist];
    co_return 0;
  }
  const bool makes = !its.exists;
  const std::string name = structure.file_name(file);
  const int64_t from = sim.now();
  Op op{.kind = makes ? OpKind::create : OpKind::open};
  op.open_flags = uint32_t(O_RDWR) | (makes ? uint32_t(O_CREAT) : 0) | settings.flags.flags;
  op.object = makes ? sim.new_object() : its.object;
  op.handle = sim.new_handle();
  int error = 0;
  if (makes) {
    error = co_await look_up_directory(sim, anchor, structure.directory_of(file));
    op.parent = anchor.object_of_directory(structure.directory_of(file));
    op.name = name;
    op.mode = 0666 & ~context_.run.umask;
  }
  if (error == 0) error = (co_await sim.perform(op, row_of(context_.number, Operation::open))).error;
  if (error) {
    failed(makes ? "create" : "open", structure.file_path(file), error);
    co_return 0;
  }
  ++events_[kWriteOpens];
  if (makes) {
    anchor.made(file, op.object);
    ++events_[kFileCreates];
  }
  for (uint64_t offset = its.current / unit * unit; offset < size && !sim.ended();) {
    const uint64_t length = std::min(unit, size - offset);
    const Op write{.kind = OpKind::write, .object = op.object, .handle = op.handle, .offset = offset, .length = length};
    error = co_await this->write(sim, write, file);
    if (error == Validator::kOver) break;
    if (error) {
      failed(fmt::format("write lba={} size={}", offset, length), structure.file_path(file), error, offset, length);
      break;
    }
    anchor.resized(file, offset += length);
  }
  if (settings.flags.sync_at_close) {
    const Op sync{.kind = OpKind::fsync, .object = op.object, .handle = op.handle};
    error = (co_await sim.perform(sync)).error;
    if (error) failed("fsync", structure.file_path(file), error);
  }
  const Op close{.kind = OpKind::release, .object = op.object, .handle = op.handle};
  error = (co_await sim.perform(close, row_of(context_.number, Operation::close))).error;
  if (error) failed("close", structure.file_path(file), error);
  ++events_[kFileCloses];
  if (makes) sim.count(row_of(context_.number, Operation::create), {.due = from, .from = from, .to = sim.now()});
  co_return 0;
}

Task FormatThread::make_directories(SimContext& sim) {
  Anchor& anchor = context_.anchor;
  const Structure& structure = anchor.structure();
  if (shared_.report_made) {
    for (unsigned depth = 1; depth <= structure.depth(); ++depth) {
      for (uint64_t d = structure.level(depth) + turn_; d < structure.level(depth + 1) && !sim.ended(); d += shared_.threads)
        co_await make_directory(sim, d);
      const bool together = co_await sim.arrive(shared_.levels);
      if (!together) co_return ECANCELED;
    }
    shared_.report_made();
    co_return 0;
  }
  while (!shared_.made()) {
    co_await sim.until(sim.now() + kLookAgain);
    if (sim.ended()) co_return ECANCELED;
  }
  for (uint64_t d = turn_; d < structure.directories(); d += shared_.threads)
    if (!anchor.exists(d)) anchor.made_directory(d, kNoObject);
  const bool together = co_await sim.arrive(shared_.levels);
  co_return together ? 0 : ECANCELED;
}

SimTask FormatThread::run(SimContext& sim) {
  if (format_.clean) co_return;  // old files were removed before
  const int error = co_await make_directories(sim);
  if (error || format_.directories) co_return;
  const std::vector<uint32_t>& used = context_.anchor.chosen();
  for (uint64_t n; (n = shared_.next.fetch_add(1)) < used.size() && !sim.ended();) co_await make_file(sim, used[n]);
}

}  // namespace fsr::vdbench
