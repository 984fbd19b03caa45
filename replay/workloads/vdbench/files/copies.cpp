// SPDX-License-Identifier: Apache-2.0
// Copies from one FSD to another one, which may be on another target.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "workloads/vdbench/files/file_thread.hpp"

namespace fsr::vdbench {

// Copies through this process, as the original does.
Task FileThread::copy_content(SimContext& sim, uint32_t from, uint32_t to) {
  Anchor& target = *context_.target;
  Open in, out;
  if (int error = co_await open(sim, anchor_, from, true, false, &in)) {
    target.release(to);
    co_return error;
  }
  co_await sim.move_to(target.target_index());
  int error = 0;
  if (target.file(to).exists) error = co_await unlink(sim, target, to, 0);
  if (error) target.release(to);
  if (error == 0) error = co_await open(sim, target, to, false, false, &out);
  const bool opened = error == 0;
  co_await sim.move_to(anchor_.target_index());
  const uint64_t size = anchor_.file(from).current;
  for (uint64_t offset = 0; error == 0 && offset < size;) {
    const uint64_t length = std::min(settings().transfers.draw(random_), size - offset);
    const Op read{
        .kind = OpKind::read, .object = anchor_.file(from).object, .handle = in.handle, .offset = offset, .length = length};
    const Outcome& got = co_await sim.perform(read, row(Operation::read), {.want_data = true});
    error = got.error ? got.error : got.result != length ? EIO : 0;
    if (error == 0) scratch_.assign(got.data);
    if (error) {
      failed_transfer(read, anchor_, from, error);
      break;
    }
    co_await sim.move_to(target.target_index());
    const Op write{
        .kind = OpKind::write, .object = target.file(to).object, .handle = out.handle, .offset = offset, .length = length};
    const Outcome& put = co_await sim.perform(write, row(Operation::write), {.payload = scratch_});
    error = put.error ? put.error : put.result != length ? EIO : 0;
    if (error) failed_transfer(write, target, to, error);
    co_await sim.move_to(anchor_.target_index());
    offset += length;
  }
  co_await close(sim, anchor_, in);
  if (opened) {
    co_await sim.move_to(target.target_index());
    if (error == 0) target.resized(to, size);
    co_await close(sim, target, out);
    co_await sim.move_to(anchor_.target_index());
  }
  co_return error;
}

Task FileThread::copy(SimContext& sim) {
  for (;;) {
    if (co_await find(sim, Wanted::with_data, true)) co_return kOver;
    const uint32_t file = found_;
    File& source = anchor_.file(file);
    // A file that is not chosen at random is copied only once.
    if (!settings().random_files && source.copied) {
      anchor_.release(file);
      co_return kOver;
    }
    if (file >= context_.target->structure().files() ||
        !context_.target->exists(context_.target->structure().directory_of(file))) {
      anchor_.release(file);
      if (co_await blocked(sim, kMissingParent)) co_return kOver;
      continue;
    }
    if (!context_.target->claim(file, true)) {
      anchor_.release(file);
      if (co_await blocked(sim, kFileBusy)) co_return kOver;
      continue;
    }
    const int64_t from = sim.now();
    if (co_await copy_content(sim, file, file) == 0) {
      source.copied = true;
      sim.count(row(Operation::copy), {.due = due_ ? due_ : from, .from = from, .to = sim.now(), .bytes = source.current});
      ++events_[kFilesCopied];
    }
    co_return 0;
  }
}

}  // namespace fsr::vdbench
