// SPDX-License-Identifier: Apache-2.0
#include "ring.hpp"

#include <cstring>
#include <new>
#include <thread>
#include <utility>

namespace fsr {

namespace {

struct StoredEntry {
  uint64_t ino;
  uint32_t type;
  uint32_t name_bytes;
};

size_t padded(size_t n) { return (n + 7) & ~size_t(7); }

size_t entries_bytes(const Op& op) {
  size_t n = 0;
  for (const DirEntry& e : op.entries) n += sizeof(StoredEntry) + e.name.size();
  return n;
}

char* put(char* p, std::string_view text) {
  if (!text.empty()) memcpy(p, text.data(), text.size());
  return p + text.size();
}

}  // namespace

Ring::Ring(ChunkPool& pool) : pool_(pool), chunk_(pool.make()), read_chunk_(chunk_) {
  if (!chunk_) throw std::bad_alloc();
}

size_t Ring::need(const Op& op) { return padded(sizeof(Record) + op.name.size() + op.name2.size() + op.data.size()); }

size_t Ring::need_end(const Op& op) { return padded(need(op) + op.blocks.size_bytes() + entries_bytes(op)); }

bool Ring::room(size_t bytes) {
  if (at_ + bytes <= largest() || reserved_) return true;
  if (bytes <= largest()) reserved_ = pool_.take();
  return reserved_ != nullptr;
}

// Where the record goes for which room() has made sure that there is some.
std::byte* Ring::place() {
  if (reserved_) {
    head_.store(total() + largest() - at_, std::memory_order_relaxed);
    chunk_->next.store(reserved_, std::memory_order_release);
    chunk_ = std::exchange(reserved_, nullptr);
    at_ = 0;
  }
  return chunk_->memory + at_;
}

void Ring::enter() { state_.store(kEntering, std::memory_order_seq_cst); }

void Ring::store(Record& record, const Op& op, bool end) {
  record.op = op;
  record.who = op.who;
  if (op.attr) record.attr = *op.attr;
  if (op.set) record.set = *op.set;
  char* p = reinterpret_cast<char*>(&record + 1);
  if (!op.blocks.empty()) memcpy(p, op.blocks.data(), op.blocks.size_bytes());
  p += op.blocks.size_bytes();
  // The strings may be in the ring already; storing them again costs less than knowing.
  p = put(put(put(p, op.name), op.name2), op.data);
  record.entry_count = 0;
  if (!end) return;
  for (const DirEntry& e : op.entries) {
    StoredEntry stored{e.ino, e.type, uint32_t(e.name.size())};
    memcpy(p, &stored, sizeof stored);
    p = put(p + sizeof stored, e.name);
    ++record.entry_count;
  }
  record.bytes = uint32_t(padded(size_t(p - reinterpret_cast<char*>(&record))));
}

void Ring::start(const Op& op) {
  open_ = new (place()) Record;
  store(*open_, op, false);
  open_start_.store(op.start, std::memory_order_relaxed);
  state_.store(kStarted, std::memory_order_seq_cst);
}

void Ring::begin_end() {
  uint32_t expected = kStarted;
  while (!state_.compare_exchange_weak(expected, kEnding, std::memory_order_acquire)) {
    expected = kStarted;
    std::this_thread::yield();  // the writer is copying it
  }
}

void Ring::abandon() {
  begin_end();
  state_.store(kIdle, std::memory_order_release);
}

void Ring::finish(const Op& op) {
  begin_end();
  if (reserved_) open_ = new (place()) Record;
  store(*open_, op, true);
  at_ += open_->bytes;
  head_.store(total() + open_->bytes, std::memory_order_relaxed);
  chunk_->filled.store(at_, std::memory_order_release);
  state_.store(kIdle, std::memory_order_release);
}

Ring::Open Ring::open_since(int64_t* start) const {
  switch (state_.load(std::memory_order_seq_cst)) {
    case kIdle:
      return Open::kNone;
    case kEntering:
      return Open::kUnknown;
    default:
      // Read after the state: if that request has ended meanwhile, this is a later one's start, which is a safe bound too.
      *start = open_start_.load(std::memory_order_acquire);
      return Open::kSince;
  }
}

const Ring::Record* Ring::front() {
  for (;;) {
    // In this order: once there is a next chunk, this one's fill is final.
    Chunk* next = read_chunk_->next.load(std::memory_order_acquire);
    if (read_at_ != read_chunk_->filled.load(std::memory_order_acquire))
      return reinterpret_cast<Record*>(read_chunk_->memory + read_at_);
    if (!next) return nullptr;
    tail_.store(tail_.load(std::memory_order_relaxed) + largest() - read_at_, std::memory_order_relaxed);
    pool_.give_back(std::exchange(read_chunk_, next));
    read_at_ = 0;
  }
}

void Ring::read(const Record& record, View& view) const {
  Op& op = view.op = record.op;
  const char* p = reinterpret_cast<const char*>(&record + 1);
  op.blocks = {reinterpret_cast<const BlockPrint*>(p), op.blocks.size()};
  p += op.blocks.size_bytes();
  auto take = [&p](std::string_view& text) {
    text = {p, text.size()};
    p += text.size();
  };
  take(op.name);
  take(op.name2);
  take(op.data);
  view.entries.clear();
  for (uint32_t i = 0; i < record.entry_count; ++i) {
    StoredEntry stored;
    memcpy(&stored, p, sizeof stored);
    p += sizeof stored;
    view.entries.push_back({.name = {p, stored.name_bytes}, .ino = stored.ino, .type = stored.type});
    p += stored.name_bytes;
  }
  op.entries = view.entries;
  op.attr = op.attr ? &record.attr : nullptr;
  op.set = op.set ? &record.set : nullptr;
  op.who = record.who;
}

void Ring::pop(const Record& record) {
  read_at_ += record.bytes;
  tail_.store(tail_.load(std::memory_order_relaxed) + record.bytes, std::memory_order_relaxed);
}

}  // namespace fsr
