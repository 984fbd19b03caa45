// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/validator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "util/clock_ns.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

namespace {

constexpr uint64_t kMostShown = 100;  // wrong blocks of a run whose content is shown
constexpr int64_t kRetry = 50'000;    // ns until a claim is tried again after another thread had the blocks

// Returns "last written at TIME by rd=r thread=3, last read well at TIME by rd=r thread=4".
std::string good_text(const BlockKeys::LastGood& good, const ThreadNames& threads) {
  // Times are whole seconds.
  auto event = [&](const char* what, uint32_t time, uint16_t thread) {
    const std::string at = wall_text(time * kSecond);
    return fmt::format("last {}{} by {}", what, time ? " at " + at.substr(0, at.rfind('.')) : "", threads.at(thread));
  };
  std::vector<std::string> events;
  if (good.written || good.writer) events.push_back(event("written", good.written, good.writer));
  if (good.read) events.push_back(event("read well", good.read, good.reader));
  return events.empty() ? "last good before this run" : fmt::format("{}", fmt::join(events, ", "));
}

std::string writer_of(const SectorMark& mark) { return writer_text(mark.run, mark.rank, mark.thread); }

}  // namespace

ValidatedStorage::ValidatedStorage(const Storage& storage, uint64_t size, uint64_t unit)
    : name(storage.name),
      what(fmt::format("sd={} lun={}", storage.name, storage.lun)),
      place_text([](uint64_t offset) { return fmt::format("lba={} ({:#x})", offset, offset); }),
      locate([lun = storage.lun](uint64_t offset) {
        return ErrorLocation{lun, offset};
      }),
      keys(size, unit) {}

ValidatedStorage::ValidatedStorage(const FileSystem& system, uint64_t size, uint64_t unit)
    : name(system.name), what(fmt::format("fsd={} anchor={}", system.name, system.anchor)), keys(size, unit) {}

Validator::Validator(ValidatedStorage& storage, const Validation& how, ValidatedRun& run, ErrorLog& errors, uint64_t largest)
    : storage_(storage),
      how_(how),
      run_(run),
      thread_(run.threads++),
      name_(storage.threads.add(writer_text(run.name, run.rank, thread_))),
      errors_(errors),
      buffer_(largest) {}

Task Validator::perform(SimContext& sim, Op op, Row row, int64_t due, uint64_t base) {
  base_ = base;
  while (!storage_.keys.claim(base + op.offset, op.length)) {
    co_await sim.until(sim.now() + kRetry);
    if (sim.ended()) co_return kOver;
  }
  int error = 0;
  if (op.kind == OpKind::read)
    error = co_await read(sim, op, row, due);
  else
    error = co_await write(sim, op, row, due);
  storage_.keys.release(base + op.offset, op.length);
  co_return error;
}

Task Validator::transfer(SimContext& sim, const Op& op, Row row, const PerformOptions& how) {
  const Outcome& outcome = co_await sim.perform(op, row, how);
  if (outcome.error) co_return outcome.error;
  if (outcome.result != op.length) co_return EIO;
  if (how.want_data && outcome.data.data() != buffer_.data()) memcpy(buffer_.data(), outcome.data.data(), op.length);
  co_return 0;
}

Task Validator::read(SimContext& sim, Op op, Row row, int64_t due) {
  const int error = co_await transfer(sim, op, row, {.due = due, .want_data = true, .room = buffer_.data()});
  if (error == 0) check(base_ + op.offset, {buffer_.data(), op.length}, "read");
  co_return error;
}

Task Validator::write(SimContext& sim, Op op, Row row, int64_t due) {
  BlockKeys& keys = storage_.keys;
  Op look = op;
  look.kind = OpKind::read;
  const uint64_t known = how_.reads_before ? known_length(base_ + op.offset, op.length) : 0;
  if (known) {
    look.length = look.result = known;  // a file may end after the known part
    const int unread = co_await transfer(sim, look, kUncounted, {.want_data = true, .room = buffer_.data()});
    if (unread) co_return unread;
    check(base_ + look.offset, {buffer_.data(), known}, "read before a write");
    look.length = look.result = op.length;
  }
  const int64_t time = clock_ns(CLOCK_REALTIME);
  entries_.clear();
  for (uint64_t at = 0; at < op.length; at += keys.unit()) {
    const uint64_t offset = base_ + op.offset + at;
    const uint8_t before = keys.key(offset), key = next_key(before == BlockKeys::kBad ? BlockKeys::kUnknown : before);
    entries_.push_back({offset / keys.unit(), key});
    write_sectors(buffer_.data() + at, keys.unit(),
                  {.offset = offset,
                   .time = time,
                   .key = key,
                   .owner = storage_.name,
                   .thread = thread_,
                   .rank = run_.rank,
                   .run = run_.name});
  }
  const int unpromised = co_await promise(sim, Journal::kWrites);
  if (unpromised) co_return unpromised;
  const int error = co_await transfer(sim, op, row, {.payload = {buffer_.data(), op.length}, .due = due});
  for (Journal::Entry& entry : entries_) {
    if (error) entry.key = BlockKeys::kUnknown;  // the content after a failed write is not known
    keys.set(entry.block * keys.unit(), entry.key);
    keys.wrote(entry.block * keys.unit(), error ? 0 : uint32_t(time / kSecond), error ? 0 : name_);
  }
  if (storage_.journal && !storage_.journal->add(Journal::kWritten, entries_, thread_)) co_return errno;
  if (error || !how_.reads_after) co_return error;
  const int unread = co_await transfer(sim, look, kUncounted, {.want_data = true, .room = buffer_.data()});
  if (unread == 0) check(base_ + look.offset, {buffer_.data(), op.length}, "read after a write");
  co_return unread;
}

// Writes entries_ to the journal before the operation is issued.
Task Validator::promise(SimContext& sim, Journal::Kind kind) {
  if (!storage_.journal) co_return 0;
  if (!storage_.journal->add(kind, entries_, thread_)) co_return errno;
  if (!storage_.journal->flushes()) co_return 0;
  int error = 0;
  co_await sim.blocking([&] { error = storage_.journal->flush() ? 0 : errno; });
  co_return error;
}

Task Validator::removes(SimContext& sim, uint64_t offset, uint64_t length) {
  entries_ = {{offset / storage_.keys.unit(), BlockKeys::kUnknown, length / storage_.keys.unit()}};
  return promise(sim, Journal::kRemoves);
}

int Validator::removed(uint64_t offset, uint64_t length) {
  if (!storage_.journal) return 0;
  const uint64_t unit = storage_.keys.unit();
  return storage_.journal->add(Journal::kRemoved, {{offset / unit, BlockKeys::kUnknown, length / unit}}) ? 0 : errno;
}

uint64_t Validator::known_length(uint64_t offset, uint64_t length) const {
  uint64_t known = 0;
  for (uint64_t at = 0; at < length; at += storage_.keys.unit()) {
    const uint8_t key = storage_.keys.key(offset + at);
    if (key != BlockKeys::kUnknown && key != BlockKeys::kBad) known = at + storage_.keys.unit();
  }
  return known;
}

void Validator::check(uint64_t first, std::string_view data, const char* when) {
  BlockKeys& keys = storage_.keys;
  const auto now = uint32_t(clock_ns(CLOCK_REALTIME) / kSecond);
  for (uint64_t at = 0; at < data.size() && !errors_.too_many(); at += keys.unit()) {
    const uint64_t offset = first + at;
    const uint8_t key = keys.key(offset);
    if (key == BlockKeys::kUnknown || key == BlockKeys::kBad) continue;
    ++run_.checked;
    const std::string_view block = data.substr(at, keys.unit());
    const Wrong wrong = wrong_of(offset, block, key);
    if (wrong.text.empty()) {
      keys.read_well(offset, now, name_);
      continue;
    }
    const bool is_shown = run_.wrong++ < kMostShown;
    run_.bad.add({storage_.locate(offset), storage_.what, wrong.kind, keys.unit()});
    report(offset, keys.unit(), when, wrong.text, is_shown ? shown(wrong, offset, block, key) : "");
    keys.set(offset, BlockKeys::kBad);  // reported only once
  }
}

void Validator::missing(uint64_t first, uint64_t length, const char* when) {
  BlockKeys& keys = storage_.keys;
  uint64_t count = 0, at = first;
  for (uint64_t offset = first; offset < first + length; offset += keys.unit()) {
    const uint8_t key = keys.key(offset);
    if (key == BlockKeys::kUnknown || key == BlockKeys::kBad) continue;
    if (count++ == 0) at = offset;
    keys.set(offset, BlockKeys::kBad);
  }
  if (count == 0) return;
  run_.checked += count;
  run_.wrong += count;
  run_.bad.add({storage_.locate(at), storage_.what, "lost write", count * keys.unit()});
  report(at, keys.unit(), when, fmt::format("lost write, expected {} written blocks from here on, found none", count), "");
}

void Validator::report(uint64_t offset, uint64_t size, const char* when, const std::string& wrong, const std::string& shown) {
  ErrorLocation location = storage_.locate(offset);
  location.size = size;
  errors_.add(
      fmt::format("Data Validation error: {} {}: block {} size={}: {}; {}{}", storage_.what, when, storage_.place_text(offset),
                  size, wrong, good_text(storage_.keys.last_good(offset), storage_.threads), shown),
      location);
}

std::string Validator::shown(const Wrong& wrong, uint64_t offset, std::string_view block, uint8_t key) const {
  const uint64_t at = wrong.first_sector * kSector;
  SectorMark expected = wrong.rest;
  expected.offset = offset + at;
  expected.key = key;
  expected.owner = storage_.name;
  std::string text = fmt::format("\n  {}: {}\n", wrong.kind, kind_text(wrong.kind)) +
                     sector_text(block.substr(at, kSector), expected, storage_.locate(offset).lba + at);
  text.pop_back();  // the last line gets its end from the log
  return text;
}

Validator::Wrong Validator::wrong_of(uint64_t offset, std::string_view block, uint8_t key) const {
  const uint64_t sectors = block.size() / kSector;
  uint64_t as_written = 0, older = 0, zeros = 0, damaged = 0, foreign = 0, misplaced = 0;
  SectorMark mark, rest, stale, stray;
  uint64_t first_wrong = sectors;
  for (uint64_t s = 0; s < sectors; ++s) {
    const SectorMark expected{.offset = offset + s * kSector, .key = key, .owner = storage_.name};
    const SectorState state = look_at_sector(block.data() + s * kSector, expected, &mark);
    const bool in_place = mark.offset == expected.offset && mark.owner == expected.owner;
    if (state == SectorState::written && in_place && mark.key == key) {
      if (as_written++ == 0) rest = mark;
      continue;
    }
    first_wrong = std::min(first_wrong, s);
    if (state == SectorState::zeros)
      ++zeros;
    else if (state == SectorState::damaged)
      ++damaged;
    else if (state == SectorState::foreign)
      ++foreign;
    else if (in_place)
      (older++ ? mark : stale) = mark;
    else
      (misplaced++ ? mark : stray) = mark;
  }
  if (as_written == sectors) return {};
  std::vector<std::string> found;
  auto count = [&](uint64_t n, const std::string& what) {
    if (n) found.push_back(fmt::format("{} {} {}", n, n == 1 ? "sector" : "sectors", what));
  };
  count(as_written, "as written");
  count(older, fmt::format("of another write, key {} of {} by {}", stale.key, wall_text(stale.time), writer_of(stale)));
  if (misplaced) {
    const std::string place =
        stray.owner == storage_.name ? storage_.place_text(stray.offset) : fmt::format("{} lba={}", stray.owner, stray.offset);
    count(misplaced, fmt::format("of {}, written {} by {}", place, wall_text(stray.time), writer_of(stray)));
  }
  count(zeros, "of zeros");
  count(damaged, "with a wrong checksum");
  count(foreign, "written by another owner");
  const char* name = misplaced    ? "misplaced write"
                     : foreign    ? "foreign data"
                     : damaged    ? "damaged data"
                     : as_written ? "torn write"
                                  : "lost write";
  return {fmt::format("{}, expected key {}, from sector {} on: {}", name, key, first_wrong, fmt::join(found, ", ")), name,
          first_wrong, rest};
}

}  // namespace fsr::vdbench
