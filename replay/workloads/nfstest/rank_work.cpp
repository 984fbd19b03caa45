// SPDX-License-Identifier: Apache-2.0
#include "workloads/nfstest/rank_work.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/opens_by_name.hpp"
#include "threads/sim_context.hpp"
#include "workloads/stdio.hpp"

namespace fsr::nfstest {

namespace {

char byte_of(unsigned rank) { return char(rank); }

bool all_are(std::string_view data, char value) {
  return data.empty() || (data[0] == value && memcmp(data.data(), data.data() + 1, data.size() - 1) == 0);
}

}  // namespace

unsigned writer_for(unsigned rank, uint64_t file, unsigned ranks, unsigned shift) {
  return unsigned((rank + shift + file) % ranks);
}

unsigned reader_shift(const std::vector<std::string>& hosts) {
  std::map<std::string, unsigned> numbers;
  std::vector<unsigned> host_of;
  for (const std::string& host : hosts) host_of.push_back(numbers.try_emplace(host, unsigned(numbers.size())).first->second);
  unsigned best = 1;
  size_t most = 0;
  for (unsigned shift = 1; shift < host_of.size(); ++shift) {
    size_t elsewhere = 0;
    for (size_t rank = 0; rank < host_of.size(); ++rank) elsewhere += host_of[rank] != host_of[(rank + shift) % host_of.size()];
    if (elsewhere > most) {
      most = elsewhere;
      best = shift;
    }
  }
  return best;
}

RankWork::RankWork(const Settings& settings, const RankRole& role) : settings_(settings), role_(role), objects_(role.ranks) {}

void RankWork::enter(const Target& target) {
  const auto* opens = dynamic_cast<const OpensByName*>(&target);
  by_name_ = opens && opens->opens_by_name();
}

void RankWork::set_size(uint64_t units) {
  size_ = units * settings_.unit_bytes();
  buffer_size_ = settings_.buffer ? settings_.buffer * settings_.unit_bytes() : size_;
  buffer_ = {};  // before the next is allocated
  buffer_ = PageBuffer(settings_.buffer_bytes(units), char(byte_of(role_.rank)));
}

std::string RankWork::name_of(unsigned rank, uint64_t file) { return fmt::format("nfstest.{}.{}", rank, file); }

ObjectId& RankWork::object_of(unsigned writer, uint64_t file) {
  std::vector<ObjectId>& objects = objects_[writer];
  if (objects.size() <= file) objects.resize(file + 1);
  return objects[file];
}

// Returns the identity of a file. It gets one if it has none.
ObjectId RankWork::identity(SimContext& sim, unsigned writer, uint64_t file) {
  if (by_name_) return kNoObject;
  ObjectId& object = object_of(writer, file);
  if (object == kNoObject) object = sim.new_object();
  return object;
}

int RankWork::fail(const char* what, const Stream& stream, int error) {
  if (report_.error.empty())
    report_.error = fmt::format("can't {} {} at byte {}: {}", what, stream.name, stream.offset, strerror(error));
  return error;
}

Task RankWork::look(SimContext& sim, const Stream& stream) {
  const Op op{.kind = OpKind::getattr, .object = stream.object, .handle = stream.handle};
  co_return (co_await sim.perform(op, kOthers)).error;
}

Task RankWork::put(SimContext& sim, Stream& stream, uint64_t length) {
  for (uint64_t done = 0; done < length;) {
    const Op op{.kind = OpKind::write,
                .object = stream.object,
                .handle = stream.handle,
                .offset = stream.offset,
                .length = length - done,
                .result = length - done};  // null: returns this length
    const PerformOptions how{.payload = {buffer_.data(), size_t(op.length)}};
    const Outcome& outcome = co_await sim.perform(op, kWrites, how);
    if (outcome.error != 0) co_return fail("write", stream, outcome.error);
    if (outcome.result == 0) co_return fail("write", stream, ENOSPC);
    done += outcome.result;
    stream.offset += outcome.result;
    report_.bytes += outcome.result;
  }
  co_return 0;
}

Task RankWork::write_file(SimContext& sim, uint64_t file) {
  if (role_.overdue && role_.overdue()) {
    report_.error = "this rank was stopped for so long that the other ranks may have given up waiting";
    co_return ETIMEDOUT;
  }
  Stream stream;
  stream.name = name_of(role_.rank, file);
  stream.object = identity(sim, role_.rank, file);
  stream.handle = sim.new_handle();
  written_ = std::max(written_, file + 1);
  const Op create{.kind = OpKind::create,
                  .mode = 0666 & ~role_.umask,
                  .open_flags = O_WRONLY | O_CREAT | O_TRUNC,
                  .object = stream.object,
                  .parent = kRootObject,
                  .handle = stream.handle,
                  .name = stream.name};
  int error = (co_await sim.perform(create, kCreates)).error;
  if (error) co_return fail("create", stream, error);
  Stdio stdio;
  for (uint64_t given = 0; given < size_ && error == 0;) {
    const uint64_t part = std::min(buffer_size_, size_ - given);
    given += part;
    if (sim.ended()) {
      error = ECANCELED;
      break;
    }
    if (settings_.direct) {
      error = co_await put(sim, stream, part);
      continue;
    }
    const Stdio::Writes writes = stdio.write(int64_t(part));
    if (writes.looks) error = co_await look(sim, stream);
    if (error == 0) error = co_await put(sim, stream, uint64_t(writes.held));
    if (error == 0) error = co_await put(sim, stream, uint64_t(writes.direct));
  }
  if (error == 0 && stdio.held() > 0) error = co_await put(sim, stream, uint64_t(stdio.held()));
  if (error == 0 && role_.sync) {
    const Op sync{.kind = OpKind::fsync, .object = stream.object, .handle = stream.handle};
    error = (co_await sim.perform(sync, kSyncs)).error;
    if (error) fail("sync", stream, error);
  }
  const Op close{.kind = OpKind::release, .object = stream.object, .handle = stream.handle};
  const int unclosed = (co_await sim.perform(close, kWriteCloses)).error;
  if (error == 0 && unclosed) error = fail("close", stream, unclosed);
  co_return error;
}

Task RankWork::write(SimContext& sim) {
  const int64_t from = sim.now();
  int error = 0;
  for (uint64_t file = 0; file < settings_.files && error == 0 && !sim.ended(); ++file) error = co_await write_file(sim, file);
  report_.took = sim.now() - from;
  co_return error;
}

void RankWork::compare(const Stream& stream, std::string_view data, unsigned writer) {
  const char expected = byte_of(writer);
  if (all_are(data, expected)) return;
  const size_t at = data.find_first_not_of(expected);
  report_.wrong += data.size() - uint64_t(std::count(data.begin(), data.end(), expected));
  if (report_.shown.size() < StageReport::kMostShown)
    report_.shown.push_back(fmt::format("{} at byte {}: expected {}, found {}", stream.name, stream.offset + at,
                                        unsigned(uint8_t(expected)), unsigned(uint8_t(data[at]))));
}

// Reads up to `length` bytes. `done`: bytes read; fewer at the end of the file.
Task RankWork::take(SimContext& sim, Stream& stream, uint64_t length, uint64_t* done, unsigned writer) {
  for (*done = 0; *done < length;) {
    const Op op{.kind = OpKind::read,
                .object = stream.object,
                .handle = stream.handle,
                .offset = stream.offset,
                .length = length - *done,
                .result = length - *done};
    const PerformOptions how{.want_data = settings_.check};
    const Outcome& outcome = co_await sim.perform(op, kReads, how);
    if (outcome.error != 0) co_return fail("read", stream, outcome.error);
    if (outcome.result == 0) break;
    if (settings_.check) compare(stream, outcome.data, writer);
    *done += outcome.result;
    stream.offset += outcome.result;
    report_.bytes += outcome.result;
    if (!settings_.direct) break;  // stdio is satisfied with less than it asked for
  }
  co_return 0;
}

Task RankWork::read_file(SimContext& sim, unsigned writer, uint64_t file) {
  Stream stream;
  stream.name = name_of(writer, file);
  stream.object = identity(sim, writer, file);
  stream.handle = sim.new_handle();
  if (!by_name_) {
    const Op lookup{.kind = OpKind::lookup, .object = stream.object, .parent = kRootObject, .name = stream.name};
    if (int error = (co_await sim.perform(lookup, kLookups)).error) co_return fail("find", stream, error);
  }
  const Op open{.kind = OpKind::open,
                .open_flags = O_RDONLY,
                .object = stream.object,
                .parent = kRootObject,
                .handle = stream.handle,
                .name = by_name_ ? std::string_view(stream.name) : std::string_view()};
  int error = (co_await sim.perform(open, kOpens)).error;
  if (error) co_return fail("open", stream, error);
  Stdio stdio;
  uint64_t done = 0;
  for (uint64_t asked = 0; asked < size_ && error == 0;) {
    int64_t part = int64_t(std::min(buffer_size_, size_ - asked));
    asked += uint64_t(part);
    if (sim.ended()) {
      error = ECANCELED;
      break;
    }
    if (settings_.direct) {
      error = co_await take(sim, stream, uint64_t(part), &done, writer);
      continue;
    }
    for (Stdio::Read next = stdio.read(part); next.length > 0 && error == 0; next = stdio.read(part)) {
      if (next.looks) error = co_await look(sim, stream);
      if (error == 0) error = co_await take(sim, stream, uint64_t(next.length), &done, writer);
      if (done == 0) break;
      stdio.came(int64_t(done), part);
    }
  }
  if (error == 0 && stream.offset != size_) {
    error = EIO;
    if (report_.error.empty()) report_.error = fmt::format("{} has {} bytes, not {}", stream.name, stream.offset, size_);
  }
  const Op close{.kind = OpKind::release, .object = stream.object, .handle = stream.handle};
  const int unclosed = (co_await sim.perform(close, kReadCloses)).error;
  if (error == 0 && unclosed) error = fail("close", stream, unclosed);
  co_return error;
}

Task RankWork::read(SimContext& sim) {
  const int64_t from = sim.now();
  int error = 0;
  for (uint64_t file = 0; file < settings_.files && error == 0 && !sim.ended(); ++file)
    error = co_await read_file(sim, writer_for(role_.rank, file, role_.ranks, role_.shift), file);
  report_.took = sim.now() - from;
  co_return error;
}

Task RankWork::remove_files(SimContext& sim, unsigned rank) {
  for (uint64_t file = 0; file < (rank == role_.rank ? written_ : settings_.files); ++file) {
    Stream stream;
    stream.name = name_of(rank, file);
    const Op op{.kind = OpKind::unlink, .object = object_of(rank, file), .parent = kRootObject, .name = stream.name};
    const int error = (co_await sim.perform(op, kUncounted)).error;
    if (error && error != ENOENT) fail("remove", stream, error);
  }
  co_return 0;
}

Task RankWork::remove(SimContext& sim) { return remove_files(sim, role_.rank); }

Task RankWork::remove_lost(SimContext& sim) { return remove_files(sim, lost_); }

SimTask WorkThread::run(SimContext& sim) {
  work_.enter(sim.target());
  co_await (work_.*stage_)(sim);
}

}  // namespace fsr::nfstest
