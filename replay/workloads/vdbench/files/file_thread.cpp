// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/files/file_thread.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "base/payload.hpp"
#include "workloads/vdbench/files/lookups.hpp"

namespace fsr::vdbench {

namespace {

constexpr int64_t kBlockedPause = 200'000;  // ns until a blocked thread tries again
constexpr unsigned kMostBlocked = 10'000;   // times in a row, after which the thread ends because its run is not possible

}  // namespace

FileThread::FileThread(WorkContext& context, unsigned number)
    : context_(context),
      number_(number),
      anchor_(&context.anchor),
      random_(context.run.seed, number + 1),
      writer_(number),
      validator_(context.validator()) {}

SimTask FileThread::run(SimContext& sim) {
  ++context_.threads;
  int over = 0;
  while (over == 0 && !sim.ended() && !context_.over.load(std::memory_order_relaxed)) {
    over = co_await turn(sim);
    if (over == 0) over = co_await work(sim);
    blocked_in_a_row_ = 0;
  }
  if (open_) {
    Open last = *open_;
    co_await close(sim, *anchor_, last);
  }
  if (--context_.threads == 0) context_.run.pace.leave(context_.number);
  if (!gave_up_.empty()) throw std::runtime_error(gave_up_);  // because a Task can't throw
}

// Waits until this thread may start an operation.
Task FileThread::turn(SimContext& sim) {
  for (;;) {
    const int64_t now = sim.now() - sim.started();
    const Pace::StartSlot turn = context_.run.pace.take(context_.number, now);
    if (turn.at > now) co_await sim.until(sim.started() + turn.at);
    if (sim.ended()) co_return kOver;
    due_ = turn.planned ? sim.started() + turn.at : 0;
    if (turn.taken) co_return 0;
  }
}

Task FileThread::work(SimContext& sim) {
  switch (settings().operation) {
    case Operation::read:
    case Operation::write: {
      bool reads = settings().operation == Operation::read;
      if (settings().read_percent) reads = random_.unit() * 100 < *settings().read_percent;
      return transfer(sim, reads);
    }
    case Operation::mkdir:
    case Operation::rmdir:
      return change_directory(sim, settings().operation == Operation::mkdir);
    case Operation::create:
      return create(sim);
    case Operation::remove:
      return remove(sim);
    case Operation::copy:
      return copy(sim);
    default:
      return inspect(sim);
  }
}

Task FileThread::blocked(SimContext& sim, Event event) {
  ++events_[event];
  if (++blocked_in_a_row_ > kMostBlocked) {
    gave_up_ = fmt::format("fwd={}: {} attempts in a row found no object for operation {}; the last: {}", settings().name,
                           kMostBlocked, kOperationNames[unsigned(settings().operation)], kEventNames[event].words);
    co_return kOver;
  }
  co_await sim.until(sim.now() + kBlockedPause);
  co_return sim.ended() ? kOver : 0;
}

// True if files that exist (or are missing, for `to_exist` false) can be expected now or later.
bool FileThread::more_files(bool to_exist) const {
  const Expectations& expects = context_.run.expects;
  return to_exist ? expects.creates || anchor_->existing_files() != 0 : expects.deletes || !anchor_->all_files_exist();
}

Task FileThread::find(SimContext& sim, Wanted wanted, bool alone) {
  const FileWorkload& s = settings();
  const Anchor::Choice choice{s.random_files, s.once, s.starts_at_any_file, s.midpoint};
  for (;;) {
    if (sim.ended() || context_.over.load(std::memory_order_relaxed)) co_return kOver;
    const std::optional<uint32_t> chosen = anchor_->choose(choice);
    if (!chosen) co_return kOver;
    found_ = *chosen;
    if (!anchor_->claim(found_, alone)) {
      if (co_await blocked(sim, kFileBusy)) co_return kOver;
      continue;
    }
    const File& file = anchor_->file(found_);
    Event why = kEvents;
    if ((wanted == Wanted::existing || wanted == Wanted::with_data) && !file.exists)
      why = kFileMustExist;
    else if (wanted == Wanted::with_data && file.current == 0)
      why = kFileNotFull;
    else if (wanted == Wanted::missing && file.exists)
      why = kFileMayNotExist;
    else if (!anchor_->exists(anchor_->structure().directory_of(found_)))
      why = kMissingParent;
    if (why == kEvents) co_return 0;
    anchor_->release(found_);
    if (why == kFileMustExist || why == kFileMayNotExist) {
      if (!more_files(why == kFileMustExist)) {
        context_.over = true;
        co_return kOver;
      }
    }
    if (co_await blocked(sim, why)) co_return kOver;
  }
}

// Opens a file. `creates`: creates it if it is missing. Returns an errno.
Task FileThread::open(SimContext& sim, Anchor& anchor, uint32_t file, bool for_read, bool creates, Open* open) {
  File& its = anchor.file(file);
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
    co_return error;
  }
  ++events_[for_read ? kReadOpens : kWriteOpens];
  if (!makes) co_return 0;
  anchor.made(file, op.object);
  ++events_[kFileCreates];
  if (!creates) sim.count(row(Operation::create), {.due = from, .from = from, .to = sim.now()});
  co_return 0;
}

Task FileThread::close(SimContext& sim, Anchor& anchor, Open& open) {
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

void FileThread::failed(const std::string& what, Anchor& anchor, const std::string& path, int error, uint64_t lba,
                        uint64_t size) {
  context_.run.errors.add(
      fmt::format("fwd={} fsd anchor={} file={} operation={}: {}", settings().name, anchor.name(), path, what, strerror(error)),
      {anchor.name() + "/" + path, lba, size, error});
}

std::string_view FileThread::payload(uint32_t file, uint64_t offset, uint64_t length) {
  if (context_.content) return writer_.get(*context_.content, offset, length, context_.content_row->begin_of(file));
  const ObjectId object = anchor_->file(file).object;
  return Payload::shared().get(object, offset, size_t(length), scratch_);
}

}  // namespace fsr::vdbench
