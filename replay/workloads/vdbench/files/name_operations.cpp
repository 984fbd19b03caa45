// SPDX-License-Identifier: Apache-2.0
// Operations on names and attributes.
#include <fcntl.h>
#include <unistd.h>

#include "util/clock_ns.hpp"
#include "workloads/vdbench/files/file_thread.hpp"
#include "workloads/vdbench/files/tree_thread.hpp"

namespace fsr::vdbench {

namespace {

constexpr int64_t kYear = int64_t(365) * 24 * 3600 * 1'000'000'000;

}  // namespace

Task FileThread::create(SimContext& sim) {
  if (co_await find(sim, Wanted::missing, true)) co_return kOver;
  const uint32_t file = found_;
  const int64_t from = sim.now();
  Open opened;
  if (co_await open(sim, anchor_, file, false, true, &opened)) co_return 0;
  co_await close(sim, anchor_, opened);
  sim.count(row(Operation::create), {.due = due_ ? due_ : from, .from = from, .to = sim.now()});
  co_return 0;
}

Task FileThread::unlink(SimContext& sim, Anchor& anchor, uint32_t file, int64_t due) {
  const uint64_t directory = anchor.structure().directory_of(file);
  int error = co_await look_up_directory(sim, anchor, directory);
  const std::string name = anchor.structure().file_name(file);
  Op op{
      .kind = OpKind::unlink, .object = anchor.file(file).object, .parent = anchor.object_of_directory(directory), .name = name};
  const uint64_t begin = validator_ ? anchor.base_of(file) : 0, length = validator_ ? anchor.row().end_of(file) - begin : 0;
  if (error == 0 && validator_) error = co_await validator_->removes(sim, begin, length);
  if (error == 0) error = (co_await sim.perform(op, row(Operation::remove), {.due = due})).error;
  if (error) {
    failed("delete", anchor, anchor.structure().file_path(file), error);
    co_return error;
  }
  anchor.removed(file);
  if (validator_) error = validator_->removed(begin, length);
  if (error) failed("delete", anchor, "journal", error);
  ++events_[kFileDeletes];
  co_return 0;
}

Task FileThread::remove(SimContext& sim) {
  if (co_await find(sim, Wanted::existing, true)) co_return kOver;
  const uint32_t file = found_;
  co_await unlink(sim, anchor_, file, due_);
  anchor_.release(file);
  co_return 0;
}

// Claims a directory that can be made, and its parent, or returns why that is not possible. `in_vain`: no thread will change it.
Event FileThread::claim_to_make(uint64_t directory, bool* in_vain) {
  if (!anchor_.claim_directory(directory)) return kDirBusyMkdir;
  const uint64_t parent = anchor_.structure().parent_of(directory);
  Event why = kEvents;
  if (anchor_.exists(directory)) {
    why = kDirExists;
    *in_vain = anchor_.all_directories_exist() && !context_.run.expects.removes_directories;
  } else if (!anchor_.claim_directory(parent)) {
    why = kParentDirBusy;
  } else if (!anchor_.exists(parent)) {
    anchor_.release_directory(parent);
    why = kMissingParent;
  }
  if (why != kEvents) anchor_.release_directory(directory);
  return why;
}

// Claims a directory that can be removed, as claim_to_make().
Event FileThread::claim_to_remove(uint64_t directory, bool* in_vain) {
  const Expectations& expects = context_.run.expects;
  if (!anchor_.claim_directory(directory)) return kDirBusyRmdir;
  Event why = kEvents;
  if (!anchor_.exists(directory)) {
    why = kDirDoesNotExist;
    *in_vain = anchor_.existing_directories() == 0 && !expects.makes_directories;
  } else if (anchor_.has_directories(directory)) {
    why = kDirStillHasChild;
  } else if (anchor_.has_files(directory)) {
    why = kDirStillHasFiles;
    *in_vain = !expects.deletes;
  }
  if (why != kEvents) anchor_.release_directory(directory);
  return why;
}

Task FileThread::change_directory(SimContext& sim, bool makes) {
  const Structure& structure = anchor_.structure();
  for (;;) {
    if (sim.ended() || context_.over.load(std::memory_order_relaxed)) co_return kOver;
    const std::optional<uint64_t> chosen = anchor_.choose_directory(settings().random_files);
    if (!chosen) co_return kOver;
    const uint64_t directory = *chosen;
    bool in_vain = false;
    if (const Event why = makes ? claim_to_make(directory, &in_vain) : claim_to_remove(directory, &in_vain); why != kEvents) {
      if (in_vain) context_.over = true;
      if (in_vain || co_await blocked(sim, why)) co_return kOver;
      continue;
    }
    if (makes) {
      co_await make_directory(sim, directory, due_);
      anchor_.release_directory(structure.parent_of(directory));
    } else {
      co_await remove_directory(sim, directory);
    }
    anchor_.release_directory(directory);
    co_return 0;
  }
}

Task FileThread::remove_directory(SimContext& sim, uint64_t directory) {
  const Structure& structure = anchor_.structure();
  int error = co_await look_up_directory(sim, anchor_, directory);
  const std::string name = structure.directory_name(directory);
  Op op{.kind = OpKind::rmdir, .object = anchor_.directory(directory).object};
  op.parent = anchor_.object_of_directory(structure.parent_of(directory));
  op.name = name;
  if (error == 0) error = (co_await sim.perform(op, row(Operation::rmdir), {.due = due_})).error;
  if (error) {
    failed("rmdir", anchor_, structure.directory_path(directory), error);
    co_return error;
  }
  anchor_.removed_directory(directory);
  ++events_[kDirectoryDeletes];
  co_return 0;
}

Task FileThread::inspect(SimContext& sim) {
  const Operation operation = settings().operation;
  if (co_await find(sim, Wanted::existing, false)) co_return kOver;
  const uint32_t file = found_;
  if (operation == Operation::open || operation == Operation::close) {
    Open opened;
    if (co_await open(sim, anchor_, file, operation == Operation::open, false, &opened)) co_return 0;
    co_await close(sim, anchor_, opened);
    co_return 0;
  }
  int error = co_await look_up_file(sim, anchor_, file);
  Op op{.kind = operation == Operation::getattr  ? OpKind::getattr
                : operation == Operation::access ? OpKind::access
                                                 : OpKind::setattr};
  op.object = anchor_.file(file).object;
  Attr times;
  if (operation == Operation::access) op.mode = R_OK;
  if (operation == Operation::setattr) {
    // A year from now, as the original sets it.
    times.valid = kAttrMtime;
    times.mtime = clock_ns(CLOCK_REALTIME) + kYear;
    op.set = &times;
  }
  if (error == 0) error = (co_await sim.perform(op, row(operation), {.due = due_})).error;
  if (error)
    failed(kOperationNames[unsigned(operation)], anchor_, anchor_.structure().file_path(file), error);
  else
    ++events_[operation == Operation::getattr ? kGetAttr : operation == Operation::access ? kAccess : kSetAttr];
  anchor_.release(file);
  co_return 0;
}

}  // namespace fsr::vdbench
