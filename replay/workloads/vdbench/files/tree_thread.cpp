// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/files/tree_thread.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/payload.hpp"

namespace fsr::vdbench {

Task look_up_directory(SimContext& sim, Anchor& anchor, uint64_t directory) {
  if (directory == Structure::kAnchor || anchor.directory(directory).object != kNoObject) co_return 0;
  const uint64_t parent = anchor.structure().parent_of(directory);
  if (int error = co_await look_up_directory(sim, anchor, parent)) co_return error;
  const std::string name = anchor.structure().directory_name(directory);
  const ObjectId object = sim.new_object();
  const Op op{.kind = OpKind::lookup, .object = object, .parent = anchor.object_of_directory(parent), .name = name};
  if (int error = (co_await sim.perform(op)).error) co_return error;
  anchor.made_directory(directory, object);
  co_return 0;
}

Task look_up_file(SimContext& sim, Anchor& anchor, uint32_t file) {
  if (anchor.file(file).object != kNoObject) co_return 0;
  const uint64_t directory = anchor.structure().directory_of(file);
  if (int error = co_await look_up_directory(sim, anchor, directory)) co_return error;
  const std::string name = anchor.structure().file_name(file);
  const ObjectId object = sim.new_object();
  const Op op{.kind = OpKind::lookup, .object = object, .parent = anchor.object_of_directory(directory), .name = name};
  if (int error = (co_await sim.perform(op)).error) co_return error;
  anchor.made(file, object);
  co_return 0;
}

TreeThread::TreeThread(WorkContext& context, unsigned number, bool is_format)
    : context_(context), anchor_(context.anchor), validator_(context.validator()), is_format_(is_format), writer_(number) {}

// Opens a file. `creates`: creates it if it is missing. Returns an errno.
Task TreeThread::open(SimContext& sim, Anchor& anchor, uint32_t file, bool for_read, bool creates, Open* open) {
  const Anchor::File& its = anchor.file(file);
  const bool makes = !its.exists;
  const uint64_t directory = anchor.structure().directory_of(file);
  int error = 0;
  if (makes)
    error = co_await look_up_directory(sim, anchor, directory);
  else
    error = co_await look_up_file(sim, anchor, file);
  const std::string name = makes ? anchor.structure().file_name(file) : "";
  Op op{.kind = makes ? OpKind::create : OpKind::open};
  op.open_flags = uint32_t(for_read ? O_RDONLY : O_RDWR) | (makes ? uint32_t(O_CREAT) : 0) | settings().flags.flags;
  op.object = makes ? sim.new_object() : its.object;
  op.handle = sim.new_handle();
  op.parent = makes ? anchor.object_of_directory(directory) : kNoObject;
  op.name = name;
  op.mode = 0666 & ~context_.run.umask;
  *open = {.file = file, .handle = op.handle, .for_read = for_read};
  const int64_t from = sim.now();
  if (error == 0) error = (co_await sim.perform(op, row(Operation::open))).error;
  if (error) {
    failed(makes ? "create" : "open", anchor, anchor.structure().file_path(file), error);
    anchor.release(file);
    co_return error;
  }
  ++events_[for_read ? kReadOpens : kWriteOpens];
  if (!makes) co_return 0;
  anchor.made(file, op.object);
  ++events_[kFileCreates];
  if (!creates) sim.count(row(Operation::create), {.due = from, .from = from, .to = sim.now()});
  co_return 0;
}

Task TreeThread::close(SimContext& sim, Anchor& anchor, Open& open) {
  if (settings().flags.sync_at_close && !open.for_read) {
    const Op sync{.kind = OpKind::fsync, .object = anchor.file(open.file).object, .handle = open.handle};
    if (int error = (co_await sim.perform(sync)).error) failed("fsync", anchor, anchor.structure().file_path(open.file), error);
  }
  const Op op{.kind = OpKind::release, .object = anchor.file(open.file).object, .handle = open.handle};
  const int error = (co_await sim.perform(op, row(Operation::close))).error;
  if (error) failed("close", anchor, anchor.structure().file_path(open.file), error);
  ++events_[kFileCloses];
  anchor.release(open.file);
  co_return error;
}

void TreeThread::failed(const std::string& what, Anchor& anchor, const std::string& path, int error, uint64_t lba,
                        uint64_t size) {
  context_.run.errors.add(
      fmt::format("{} fsd anchor={} file={} operation={}: {}", is_format_ ? "format" : "fwd=" + settings().name, anchor.name(),
                  path, what, strerror(error)),
      {anchor.name() + "/" + path, lba, size, error});
}

void TreeThread::failed_transfer(const Op& op, Anchor& anchor, uint32_t file, int error) {
  failed(fmt::format("{} lba={} size={}", op.kind == OpKind::read ? "read" : "write", op.offset, op.length), anchor,
         anchor.structure().file_path(file), error, op.offset, op.length);
}

// Returns an errno, EIO for a short transfer, or Validator::kOver.
Task TreeThread::transfer_some(SimContext& sim, const Op& op, uint32_t file, int64_t due) {
  const Row its_row = row(op.kind == OpKind::read ? Operation::read : Operation::write);
  if (validator_) return validator_->perform(sim, op, its_row, due, anchor_.base_of(file));
  return transfer_unchecked(sim, op, its_row, file, due);
}

Task TreeThread::transfer_unchecked(SimContext& sim, const Op& op, Row its_row, uint32_t file, int64_t due) {
  PerformOptions how{.due = due};
  if (op.kind == OpKind::write && context_.content) {
    how.payload = writer_.get(*context_.content, op.offset, op.length, context_.content_row->begin_of(file));
  } else if (op.kind == OpKind::write) {
    how.payload = Payload::shared().get(op.object, op.offset, size_t(op.length), scratch_);
    how.generated = true;
  }
  const Outcome& outcome = co_await sim.perform(op, its_row, how);
  if (outcome.error) co_return outcome.error;
  co_return outcome.result == op.length ? 0 : EIO;
}

Task TreeThread::make_directory(SimContext& sim, uint64_t directory, int64_t due) {
  const Structure& structure = anchor_.structure();
  const uint64_t parent = structure.parent_of(directory);
  int error = co_await look_up_directory(sim, anchor_, parent);
  const std::string name = structure.directory_name(directory);
  Op op{.kind = OpKind::mkdir, .mode = 0777 & ~context_.run.umask};
  op.object = sim.new_object();
  op.parent = anchor_.object_of_directory(parent);
  op.name = name;
  if (error == 0) error = (co_await sim.perform(op, row(Operation::mkdir), {.due = due})).error;
  if (error) {
    failed("mkdir", anchor_, structure.directory_path(directory), error);
    co_return error;
  }
  anchor_.made_directory(directory, op.object);
  ++events_[kDirectoryCreates];
  co_return 0;
}

}  // namespace fsr::vdbench
