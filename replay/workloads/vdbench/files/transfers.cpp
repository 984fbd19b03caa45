// SPDX-License-Identifier: Apache-2.0
// Reads and writes of the open file of a thread.

#include <algorithm>

#include "workloads/vdbench/files/file_thread.hpp"

namespace fsr::vdbench {

// True if the thread has transferred as much as it has to before it closes this file.
bool FileThread::enough(const Open& open) const {
  const FileWorkload& s = settings();
  const uint64_t size = anchor_.structure().size_of(open.file);
  if (s.stop_after_percent) return open.bytes >= size * s.stop_after / 100;
  if (s.stop_after && open.blocks >= s.stop_after) return true;
  return s.random_io ? open.bytes >= size : s.stop_after == 0 && open.bytes >= size;
}

// Chooses offset and length of a transfer. False: the end of the file is reached.
bool FileThread::place_transfer(const Open& open, bool reads, uint64_t* offset, uint64_t* length) {
  const File& file = anchor_.file(open.file);
  const uint64_t end = reads ? file.current : anchor_.structure().size_of(open.file);
  *length = settings().transfers.draw(random_);
  if (settings().random_io) {
    const uint64_t blocks = end / *length;
    *offset = random_.below(blocks) * *length;
  } else {
    *offset = open.next;
  }
  if (*offset >= end) return false;
  *length = std::min(*length, end - *offset);
  return true;
}

Task FileThread::transfer(SimContext& sim, bool reads) {
  const FileWorkload& s = settings();
  uint64_t offset = 0, length = 0;
  if (open_ && (enough(*open_) || !place_transfer(*open_, reads, &offset, &length))) {
    // If a file is read or written in parts, the next use goes on there. After the end, it starts again.
    const uint64_t size = anchor_.structure().size_of(open_->file);
    anchor_.file(open_->file).position = s.stop_after && !s.random_io && open_->next < size ? open_->next : 0;
    Open done = *open_;
    open_.reset();
    co_await close(sim, anchor_, done);
  }
  while (!open_) {
    const bool mixes = s.read_percent && *s.read_percent != 100;
    const bool for_read = reads && !mixes;
    const Wanted wanted = reads ? Wanted::with_data : s.random_io ? Wanted::existing : Wanted::either;
    if (co_await find(sim, wanted, !s.shared)) co_return kOver;
    File& file = anchor_.file(found_);
    const uint32_t chosen = found_;
    if (!reads && s.deletes_first && file.exists && (s.stop_after == 0 || file.current == anchor_.structure().size_of(chosen)))
      co_await unlink(sim, anchor_, chosen, 0);
    Open opened;
    if (co_await open(sim, anchor_, chosen, for_read, false, &opened)) co_return 0;
    if (!s.random_io) {
      opened.next = s.stop_after ? file.position : 0;
      if (s.starts_anywhere && s.stop_after == 0) {
        const uint64_t unit = settings().transfers.draw(random_);
        opened.next = random_.below(std::max<uint64_t>(1, anchor_.structure().size_of(chosen) / unit)) * unit;
      }
    }
    if (!place_transfer(opened, reads, &offset, &length)) {
      file.position = 0;
      opened.next = 0;
      if (!place_transfer(opened, reads, &offset, &length)) {  // the file is empty
        co_await close(sim, anchor_, opened);
        if (co_await blocked(sim, kFileIsFull)) co_return kOver;
        continue;
      }
    }
    open_ = opened;
  }
  const File& file = anchor_.file(open_->file);
  Op op{.kind = reads ? OpKind::read : OpKind::write};
  op.object = file.object;
  op.handle = open_->handle;
  op.offset = offset;
  op.length = length;
  op.result = length;
  const int error = co_await transfer_some(sim, op, open_->file, due_);
  if (error == kOver) co_return kOver;
  if (error) failed_transfer(op, anchor_, open_->file, error);
  open_->next = offset + length;
  open_->bytes += length;
  ++open_->blocks;
  if (!reads && error == 0 && offset + length > file.current) anchor_.resized(open_->file, offset + length);
  co_return 0;
}

}  // namespace fsr::vdbench
