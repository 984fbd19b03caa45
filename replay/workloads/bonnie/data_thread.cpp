// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/data_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "threads/sim_context.hpp"

namespace fsr::bonnie {

namespace {

bool by_bytes(Phase phase) { return phase == kByteWrite || phase == kByteRead; }

// Sets what a test writes first. Tests that read replace it.
void fill(PageBuffer& buffer, Phase phase) {
  constexpr char kValues = 127;
  for (size_t i = 0; i < buffer.size(); ++i) buffer[i] = phase == kByteWrite ? char(i) & kValues : 0;
}

}  // namespace

// Transfers one chunk, byte by byte. Here and below, the loop itself makes each request, because a coroutine for each would take
// as long as transferring a cached byte. If a byte needs little more than a system call, the loop is in the target.
Task DataThread::bytes(SimContext& sim, BigFile& file, Phase phase, uint64_t chunk) {
  const uint64_t offset = chunk * buffer_.size(), length = buffer_.size();
  Op op = phase == kByteWrite ? file.writing(offset, length) : file.reading(offset, length);
  const uint64_t done = sim.perform_bytes(op, {buffer_.data(), length});
  op.offset += done;
  op.length = 1;
  for (uint64_t i = done; i < length; ++i, ++op.offset) {
    const PerformOptions how{.payload = {&buffer_[i], 1}, .want_data = true};
    const Outcome& outcome = co_await sim.perform(op, kUncounted, how);
    if (int error = file.judge(phase, op, outcome)) co_return error;
  }
  co_return 0;
}

// Goes on after a read of a chunk, with what it did not return. Leaves the content in buffer_ if it is to be written again.
Task DataThread::complete_read(BigFile& file, Phase phase, const Op& op, const Outcome& outcome) {
  if (outcome.error == 0 && outcome.result > 0 && outcome.result < op.length)
    co_return co_await file.read(phase, buffer_.data(), op.length, op.offset);
  if (int error = file.judge(phase, op, outcome)) co_return error;
  if (phase == kRewrite) memcpy(buffer_.data(), outcome.data.data(), op.length);
  co_return 0;
}

// Transfers all chunks, each in one request or, if it is rewritten, in two.
Task DataThread::blocks(SimContext& sim, BigFile& file, Phase phase, uint64_t chunks, Meter& meter) {
  const uint64_t length = buffer_.size();
  Op read = file.reading(0, length), write = file.writing(0, length);
  int64_t from = sim.now();
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    if (sim.ended()) co_return ECANCELED;
    if (phase != kBlockWrite) {
      read.offset = chunk * length;
      const Outcome& outcome = co_await sim.perform(read, kUncounted, {.want_data = true, .room = buffer_.data()});
      if (outcome.result != length || outcome.data.data() != buffer_.data())
        if (int error = co_await complete_read(file, phase, read, outcome)) co_return error;
    }
    if (phase != kBlockRead) {
      ++buffer_[chunk % length];
      write.offset = chunk * length;
      const Outcome& outcome = co_await sim.perform(write, kUncounted, {.payload = {buffer_.data(), length}});
      if (int error = file.judge(phase, write, outcome)) co_return error;
    }
    from = meter.step(from, sim.now());
  }
  co_return 0;
}

// Transfers all chunks, byte by byte.
Task DataThread::all_bytes(SimContext& sim, BigFile& file, Phase phase, uint64_t chunks, Meter& meter) {
  int64_t from = sim.now();
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    if (sim.ended()) co_return ECANCELED;
    if (int error = co_await bytes(sim, file, phase, chunk)) co_return error;
    from = meter.step(from, sim.now());
  }
  co_return 0;
}

Task DataThread::test(SimContext& sim, Phase phase) {
  BigFile file(run_, sim);
  int error;
  if (phase == kByteWrite || phase == kBlockWrite)
    error = co_await file.make(phase);
  else
    error = co_await file.open(phase);
  if (error) co_return error;
  error = co_await run_.begin(sim, phase);
  if (error) co_return error;
  fill(buffer_, phase);
  const Settings& settings = run_.settings;
  const int64_t mebibytes = by_bytes(phase) ? std::min(settings.bytes_size, settings.size) : settings.size;
  const uint64_t chunks = uint64_t(mebibytes * (kMiB / settings.chunk));
  Meter meter(sim.now(), run_.percentiles);
  if (by_bytes(phase))
    error = co_await all_bytes(sim, file, phase, chunks, meter);
  else
    error = co_await blocks(sim, file, phase, chunks, meter);
  const int closed = co_await file.sync_and_close(phase);
  if (error == 0) error = closed;
  if (error == 0) run_.end(phase, meter.stop(sim.now()));
  co_return error;
}

// Makes the file of the test that is left out, and writes nothing to it, because bonnie++ does.
Task DataThread::make_empty(SimContext& sim) {
  BigFile file(run_, sim);
  if (int error = co_await file.make(kByteWrite)) co_return error;
  co_return co_await file.sync_and_close(kByteWrite);
}

SimTask DataThread::run(SimContext& sim) {
  sim.takes_own_times();
  for (Phase phase : {kByteWrite, kBlockWrite, kRewrite, kByteRead, kBlockRead}) {
    if (by_bytes(phase) && run_.settings.bytes_size <= 0) {
      if (phase == kByteWrite && co_await make_empty(sim)) co_return;
      continue;
    }
    if (co_await test(sim, phase)) co_return;
  }
}

SimTask BigFileRemover::run(SimContext& sim) {
  if (run_.file == kNoObject) co_return;
  Op op{.kind = OpKind::unlink, .object = run_.file, .parent = kRootObject, .name = run_.name};
  if (int error = (co_await sim.perform(op)).error) run_.left = fmt::format("can't remove {}: {}", run_.name, strerror(error));
  run_.file = op.object = kNoObject;
  for (unsigned i = 0; i < attempts_ && run_.left.empty() && !sim.ended(); ++i) co_await sim.perform(op);
}

}  // namespace fsr::bonnie
