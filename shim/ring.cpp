// SPDX-License-Identifier: Apache-2.0
#include "ring.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

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

Ring::Ring(size_t bytes) {
  size_t page = size_t(sysconf(_SC_PAGESIZE));
  size_ = (bytes + page - 1) / page * page;
  // Shared anonymous memory, not a memfd: no descriptor, which applications may have used up, and no file size limit.
  void* base = mmap(nullptr, 2 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "ring memory");
  memory_ = static_cast<std::byte*>(base);
  // mremap() of an old size of 0 maps the same pages again.
  if (mmap(memory_, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ||
      mremap(memory_, 0, size_, MREMAP_MAYMOVE | MREMAP_FIXED, memory_ + size_) == MAP_FAILED) {
    int error = errno;
    munmap(memory_, 2 * size_);
    throw std::system_error(error, std::generic_category(), "ring memory");
  }
}

Ring::~Ring() { munmap(memory_, 2 * size_); }

size_t Ring::need(const Op& op) { return padded(sizeof(Record) + op.name.size() + op.name2.size() + op.data.size()); }

size_t Ring::need_end(const Op& op) { return padded(need(op) + op.blocks.size_bytes() + entries_bytes(op)); }

bool Ring::room(size_t bytes) const {
  return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire) + bytes <= size_;
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
  store(*new (at(head_.load(std::memory_order_relaxed))) Record, op, false);
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
  uint64_t head = head_.load(std::memory_order_relaxed);
  Record* record = at(head);
  store(*record, op, true);
  head_.store(head + record->bytes, std::memory_order_release);
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

const Ring::Record* Ring::front() const {
  uint64_t tail = tail_.load(std::memory_order_relaxed);
  return tail == head_.load(std::memory_order_acquire) ? nullptr : at(tail);
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
  tail_.store(tail_.load(std::memory_order_relaxed) + record.bytes, std::memory_order_release);
}

}  // namespace fsr
