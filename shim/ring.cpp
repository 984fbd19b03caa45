// SPDX-License-Identifier: Apache-2.0
#include "ring.hpp"

#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "util/check.hpp"

namespace fsr::shim {

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

char* put(char* p, const void* what, size_t bytes) {
  if (bytes > 0) memcpy(p, what, bytes);
  return p + bytes;
}

}  // namespace

Ring::Ring(ChunkPool& pool) : pool_(pool), chunk_(pool.make()), read_chunk_(chunk_) {
  if (!chunk_) throw std::bad_alloc();
}

size_t Ring::need(const Op& op) {
  return padded(sizeof(Record) + sizeof(Attr) * (size_t(op.attr != nullptr) + size_t(op.set != nullptr)) +
                op.blocks.size_bytes() + op.name.size() + op.name2.size() + op.data.size() + entries_bytes(op));
}

bool Ring::room(size_t bytes) {
  if (bytes > largest()) return false;
  if (at_ + bytes <= largest() || reserved_) return true;
  reserved_ = pool_.take();
  return reserved_ != nullptr;
}

// Goes on to the chunk that room() has reserved, if there is one; the writer can then give back the chunk before.
void Ring::use_reserved() {
  if (!reserved_) return;
  head_.store(total() + largest() - at_, std::memory_order_relaxed);
  chunk_->next.store(reserved_, std::memory_order_release);
  chunk_ = std::exchange(reserved_, nullptr);
  at_ = 0;
}

void Ring::enter() {
  FSR_CHECK(state_.load(std::memory_order_relaxed) == kIdle,
            "a thread has one request at a time; state " + std::to_string(state_));
  state_.store(kEntering, std::memory_order_seq_cst);
}

void Ring::leave() { state_.store(kIdle, std::memory_order_release); }

void Ring::start(const Op& op) {
  FSR_CHECK(state_.load(std::memory_order_relaxed) == kEntering, "a request starts that was not announced");
  use_reserved();  // before this request starts: it may take long, and the reserved chunk would lie idle until its end
  open_ = op;
  open_start_.store(op.start, std::memory_order_release);
  state_.store(kStarted, std::memory_order_release);
}

void Ring::begin_end() {
  uint32_t expected = kStarted;
  while (!state_.compare_exchange_weak(expected, kEnding, std::memory_order_acquire)) {
    FSR_CHECK(expected == kReading || expected == kStarted, "a request ends in state " + std::to_string(expected));
    expected = kStarted;
    std::this_thread::yield();  // the writer is at it
  }
}

void Ring::abandon() {
  begin_end();
  state_.store(kIdle, std::memory_order_release);
}

void Ring::finish(const Op& op) {
  begin_end();
  use_reserved();
  FSR_CHECK(need(op) <= largest() - at_, "no room was made for " + std::to_string(need(op)) + " bytes");
  auto* record = new (chunk_->memory + at_) Record{op, op.who ? OwnThread(*op.who) : OwnThread(), need(op)};
  char* p = reinterpret_cast<char*>(record + 1);
  if (op.attr) p = put(p, op.attr, sizeof *op.attr);
  if (op.set) p = put(p, op.set, sizeof *op.set);
  p = put(p, op.blocks.data(), op.blocks.size_bytes());
  for (std::string_view text : {op.name, op.name2, op.data}) p = put(p, text.data(), text.size());
  for (const DirEntry& e : op.entries) {
    StoredEntry stored{e.ino, e.type, uint32_t(e.name.size())};
    p = put(put(p, &stored, sizeof stored), e.name.data(), e.name.size());
  }
  at_ += record->bytes;
  head_.store(total() + record->bytes, std::memory_order_relaxed);
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
    const size_t filled = read_chunk_->filled.load(std::memory_order_acquire);
    FSR_CHECK(read_at_ <= filled, "read " + std::to_string(read_at_) + " of " + std::to_string(filled) + " bytes");
    if (read_at_ != filled) return reinterpret_cast<Record*>(read_chunk_->memory + read_at_);
    if (!next) return nullptr;
    tail_.store(tail_.load(std::memory_order_relaxed) + largest() - read_at_, std::memory_order_relaxed);
    pool_.give_back(std::exchange(read_chunk_, next));
    read_at_ = 0;
  }
}

void Ring::read(const Record& record, View& view) const {
  Op& op = view.op = record.op;
  if (op.who) op.who = &record.who;
  const char* p = reinterpret_cast<const char*>(&record + 1);
  auto take = [&p](size_t bytes) { return std::exchange(p, p + bytes); };
  for (const Attr** attr : {&op.attr, &op.set})
    if (*attr) *attr = reinterpret_cast<const Attr*>(take(sizeof(Attr)));
  op.blocks = {reinterpret_cast<const BlockPrint*>(take(op.blocks.size_bytes())), op.blocks.size()};
  for (std::string_view* text : {&op.name, &op.name2, &op.data}) *text = {take(text->size()), text->size()};
  view.entries.clear();
  for (size_t i = 0; i < op.entries.size(); ++i) {
    StoredEntry stored;
    memcpy(&stored, take(sizeof stored), sizeof stored);
    view.entries.push_back({.name = {take(stored.name_bytes), stored.name_bytes}, .ino = stored.ino, .type = stored.type});
  }
  op.entries = view.entries;
  FSR_CHECK(p <= reinterpret_cast<const char*>(&record) + record.bytes,
            "a record is longer than its " + std::to_string(record.bytes) + " bytes");
}

void Ring::pop(const Record& record) {
  FSR_CHECK(record.bytes >= sizeof(Record) && record.bytes <= largest() - read_at_, std::to_string(record.bytes) + " bytes");
  read_at_ += record.bytes;
  tail_.store(tail_.load(std::memory_order_relaxed) + record.bytes, std::memory_order_relaxed);
}

}  // namespace fsr::shim
