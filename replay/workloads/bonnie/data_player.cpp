// SPDX-License-Identifier: Apache-2.0
#include "workloads/bonnie/data_player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "stage/seat.hpp"
#include "workloads/bonnie/meter.hpp"

namespace fsr::bonnie {

namespace {

bool by_bytes(Phase phase) { return phase == kByteWrite || phase == kByteRead; }

}  // namespace

Task DataPlayer::write_bytes(BigFile& file, uint64_t offset) {
  constexpr uint64_t kValues = 128;
  static const std::string values = [] {
    std::string all;
    for (uint64_t i = 0; i < kValues; ++i) all += char(i);
    return all;
  }();
  for (uint64_t i = 0; i < buffer_.size(); ++i)
    if (int error = co_await file.write(kByteWrite, &values[i % kValues], 1, offset + i)) co_return error;
  co_return 0;
}

Task DataPlayer::read_bytes(BigFile& file, uint64_t offset) {
  for (uint64_t i = 0; i < buffer_.size(); ++i)
    if (int error = co_await file.read(kByteRead, buffer_.data(), 1, offset + i)) co_return error;
  co_return 0;
}

// One chunk of a test.
Task DataPlayer::step(BigFile& file, Phase phase, uint64_t chunk) {
  const uint64_t length = buffer_.size(), offset = chunk * length;
  if (phase == kByteWrite) co_return co_await write_bytes(file, offset);
  if (phase == kByteRead) co_return co_await read_bytes(file, offset);
  if (phase != kBlockWrite)
    if (int error = co_await file.read(phase, buffer_.data(), length, offset)) co_return error;
  if (phase == kBlockRead) co_return 0;
  ++buffer_[chunk % length];
  co_return co_await file.write(phase, buffer_.data(), length, offset);
}

Task DataPlayer::test(Seat& seat, Phase phase) {
  BigFile file(course_, seat);
  int error;
  if (phase == kByteWrite || phase == kBlockWrite)
    error = co_await file.make(phase);
  else
    error = co_await file.open(phase);
  if (error) co_return error;
  error = co_await course_.begin(seat, phase);
  if (error) co_return error;
  std::fill(buffer_.begin(), buffer_.end(), 0);
  const Settings& settings = course_.settings;
  const int64_t mebibytes = by_bytes(phase) ? std::min(settings.bytes_size, settings.size) : settings.size;
  const uint64_t chunks = uint64_t(mebibytes * (kMiB / settings.chunk));
  Meter meter(seat.now());
  for (uint64_t chunk = 0; chunk < chunks && error == 0; ++chunk) {
    if (seat.ended()) error = ECANCELED;
    const int64_t from = seat.now();
    if (error == 0) error = co_await step(file, phase, chunk);
    meter.step(from, seat.now());
  }
  const int closed = co_await file.sync_and_close(phase);
  if (error == 0) error = closed;
  if (error == 0) course_.end(phase, meter.stop(seat.now()));
  co_return error;
}

Actor DataPlayer::play(Seat& seat) {
  for (Phase phase : {kByteWrite, kBlockWrite, kRewrite, kByteRead, kBlockRead}) {
    if (by_bytes(phase) && course_.settings.bytes_size <= 0) continue;
    if (co_await test(seat, phase)) co_return;
  }
}

Actor BigFileRemover::play(Seat& seat) {
  if (course_.file == kNoObject) co_return;
  const Op op{.kind = OpKind::unlink, .object = course_.file, .parent = kRootObject, .name = course_.name};
  if (int error = (co_await seat.perform(op)).error)
    course_.left = fmt::format("can't remove {}: {}", course_.name, strerror(error));
  course_.file = kNoObject;
}

}  // namespace fsr::bonnie
