// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/files/file_thread.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace fsr::vdbench {

namespace {

constexpr int64_t kBlockedPause = 200'000;  // ns until a blocked thread tries again
constexpr unsigned kMostBlocked = 10'000;   // times in a row, after which the thread ends because its run is not possible

}  // namespace

FileThread::FileThread(WorkContext& context, unsigned number)
    : TreeThread(context, number), random_(context.run.seed, number + 1) {}

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
    co_await close(sim, anchor_, last);
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
  return to_exist ? expects.creates || anchor_.existing_files() != 0 : expects.deletes || !anchor_.all_files_exist();
}

Task FileThread::find(SimContext& sim, Wanted wanted, bool alone) {
  for (;;) {
    if (sim.ended() || context_.over.load(std::memory_order_relaxed)) co_return kOver;
    const std::optional<uint32_t> chosen = anchor_.choose(settings());
    if (!chosen) co_return kOver;
    found_ = *chosen;
    if (!anchor_.claim(found_, alone)) {
      if (co_await blocked(sim, kFileBusy)) co_return kOver;
      continue;
    }
    const File& file = anchor_.file(found_);
    Event why = kEvents;
    if ((wanted == Wanted::existing || wanted == Wanted::with_data) && !file.exists)
      why = kFileMustExist;
    else if (wanted == Wanted::with_data && file.current == 0)
      why = kFileNotFull;
    else if (wanted == Wanted::missing && file.exists)
      why = kFileMayNotExist;
    else if (!anchor_.exists(anchor_.structure().directory_of(found_)))
      why = kMissingParent;
    if (why == kEvents) co_return 0;
    anchor_.release(found_);
    if (why == kFileMustExist || why == kFileMayNotExist) {
      if (!more_files(why == kFileMustExist)) {
        context_.over = true;
        co_return kOver;
      }
    }
    if (co_await blocked(sim, why)) co_return kOver;
  }
}

}  // namespace fsr::vdbench
