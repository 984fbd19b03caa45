// SPDX-License-Identifier: Apache-2.0
// Operations on the content of files, in version 3 as in version 4. A transfer is split into requests within the server's limits.
//
// Each version has the requests of lost_data.hpp and these:
//   Task read_piece(Moving<OpCall, File>&, uint64_t offset, uint32_t size, Transfer::ChunkResult*);
//   Task size_of(OpCall&, const File&, uint64_t* size);
//   Task set_size(OpCall&, const File&, uint64_t size);
// OpCall::begins_again(error) is true if the operation is performed again after this error. OpCall::append_at is kept meanwhile.
#pragma once

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "targets/nfs/lost_data.hpp"
#include "targets/plain_fallocate.hpp"
#include "targets/transfer.hpp"

namespace fsr::nfs {

// One transfer of an operation.
template <class OpCall, class File>
struct Moving {
  OpCall& call;
  const File& file;
  uint64_t start, length;
  bool keep;  // the data that is read is kept in OpCall::buffer
};

inline Stable stability(uint32_t flags) {
  return (flags & O_SYNC) == O_SYNC ? Stable::file : flags & O_DSYNC ? Stable::data : Stable::unstable;
}

template <class OpCall>
static uint64_t write_length(const OpCall& call) {
  return std::min<uint64_t>(call.op().length, call.request->payload.size());
}

template <class OpCall, class File>
static Task read_some(void* moving, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  return read_piece(*static_cast<Moving<OpCall, File>*>(moving), offset, size, moved);
}

// Writes a piece of the operation's data, again if it raced with older data that is written again.
template <class OpCall, class File>
static Task write_some(void* moving, uint64_t offset, uint32_t size, Transfer::ChunkResult* moved) {
  const auto& [call, file, start, length, keep] = *static_cast<Moving<OpCall, File>*>(moving);
  const std::string_view bytes = call.request->payload.substr(size_t(offset - start), size);
  Written written;
  for (unsigned races = 0;; ++races) {
    const uint64_t stamp = call.files().rewriting_stamp();
    if (int error = co_await write_bytes(call, file, offset, bytes, stability(file.flags), &written)) co_return error;
    DataSource source;
    if (written.committed == Stable::unstable) source = call.files().source_of(*call.request, start, offset, written.count);
    if (!keep_track(call, file, offset, written, source, stamp)) break;
    if (races == kMostRaces) {
      lose(call, file, offset, written.count);
      break;
    }
    call.auxiliary();
  }
  moved->bytes = uint32_t(written.count);
  co_return 0;
}

// Ends a transfer. The number of transferred bytes becomes the result. Returns the operation's errno.
template <class OpCall>
static int finish_transfer(OpCall& call, const Transfer& transfer, int error) {
  call.request->outcome.result = transfer.moved();
  return transfer.moved() > 0 && !call.begins_again(error) ? 0 : error;  // a partial transfer is a success
}

// Reads the operation's data, and keeps it if the caller wants it.
template <class OpCall, class File>
static Task read_file(OpCall& call, File file) {
  const Op& op = call.op();
  call.buffer.clear();
  Moving<OpCall, File> moving{call, file, op.offset, op.length, call.request->want_data};
  Transfer transfer(read_some<OpCall, File>, &moving, op.offset, op.length, call.client().options.read_max);
  const int error = co_await transfer.run();
  Outcome& outcome = call.request->outcome;
  const int result = finish_transfer(call, transfer, error);
  if (outcome.data.empty()) outcome.data = std::string_view(call.buffer).substr(0, size_t(outcome.result));
  co_return result;
}

template <class OpCall, class File>
static Task write_at(OpCall& call, const File& file, uint64_t offset) {
  Moving<OpCall, File> moving{call, file, offset, write_length(call), false};
  Transfer transfer(write_some<OpCall, File>, &moving, offset, moving.length, call.client().options.write_max);
  const int error = co_await transfer.run();
  co_return finish_transfer(call, transfer, error);
}

// Gives up the range of an append, if the operation has one.
template <class OpCall>
static void end_append(OpCall& call) {
  if (call.append_at) call.files().end_append(call.op().object);
  call.append_at.reset();
}

// Appends the operation's data. The protocol has no append: each asks for the size and writes there, after the ranges of this
// target's other appends. An append that begins again writes at the same place, because the server may have written it before.
template <class OpCall, class File>
static Task append(OpCall& call, const File& file) {
  if (!call.append_at) {
    call.files().begin_append(file.object);
    call.auxiliary();
    uint64_t size = 0;
    if (int error = co_await size_of(call, file, &size)) {
      call.files().end_append(file.object);
      co_return error;
    }
    call.append_at = call.files().place_append(file.object, size, write_length(call));
  }
  const int error = co_await write_at(call, file, *call.append_at);
  if (!call.begins_again(error)) end_append(call);
  co_return error;
}

// Writes the operation's data where it says, or at the end.
template <class OpCall, class File>
static Task write_file(OpCall& call, const File& file) {
  const bool appends = call.op().has(kOpAppend) || (file.flags & O_APPEND);
  return appends ? append(call, file) : write_at(call, file, call.op().offset);
}

// Writes data that could not be repeated after a restart of the server, unless `stable` makes that unnecessary.
template <class OpCall, class File>
static Task write_once(OpCall& call, const File& file, uint64_t offset, std::string_view bytes, Stable stable, uint64_t* done) {
  Written written;
  const uint64_t stamp = call.files().rewriting_stamp();
  if (int error = co_await write_bytes(call, file, offset, bytes, stable, &written)) co_return error;
  if (keep_track(call, file, offset, written, {}, stamp)) lose(call, file, offset, written.count);
  *done += written.count;
  co_return 0;
}

// Copies a range by reading and writing it piece by piece, for servers without such a request.
template <class OpCall, class File>
static Task copy_through(OpCall& call, const File& from, const File& to, Stable stable, uint64_t* done) {
  const Op& op = call.op();
  const NfsOptions& o = call.client().options;
  const uint64_t length = std::min({op.length, kLongestTransfer, UINT64_MAX - op.offset});
  while (*done < length) {
    const uint32_t size = uint32_t(std::min<uint64_t>(length - *done, std::min(o.read_max, o.write_max)));
    Moving<OpCall, File> reading{call, from, op.offset + *done, UINT64_MAX, true};
    Transfer::ChunkResult moved;
    call.buffer.clear();
    if (int error = co_await read_piece(reading, reading.start, size, &moved)) co_return error;
    if (moved.bytes == 0) break;
    call.auxiliary();
    if (int error = co_await write_once(call, to, op.offset2 + *done, call.buffer, stable, done)) co_return error;
  }
  co_return 0;
}

// Sets the size that fallocate(2) would set, or writes zeros, for servers that can't reserve or clear space. The writes are
// stable, because they could not be repeated after a restart of the server.
template <class OpCall, class File>
static Task plain_fallocate(OpCall& call, const File& file) {
  const Op& op = call.op();
  if (int error = range_error(op)) co_return error;
  call.auxiliary();
  uint64_t size = 0;
  if (int error = co_await size_of(call, file, &size)) co_return error;
  if (!clears_range(op)) {
    if (size >= op.offset + op.length) co_return 0;
    co_return co_await set_size(call, file, op.offset + op.length);
  }
  const uint64_t length = zeros_to_write(op, size), piece = call.client().options.write_max;
  int error = 0;
  for (uint64_t done = 0; done < length && !error;)
    error = co_await write_once(call, file, op.offset + done, zeros(std::min(piece, length - done)), Stable::file, &done);
  if (call.restarted) co_await write_lost_again(call, file);
  co_return error;
}

}  // namespace fsr::nfs
