// SPDX-License-Identifier: Apache-2.0
// The ring between one thread that serves requests and the writer thread: a chain of chunks from a pool that all rings share.
//
// Single producer, single consumer, no lock, no allocation, no system call while there is room. A request is put into the ring
// when it starts, so that the writer can see that it is under way, and completed when its outcome is known: in place, or in the
// next chunk where it has outgrown its own. A producer has at most one request open at a time, behind all the others.
//
// Layout of a record: Record, blocks, name, name2, data, entries; padded to 8 bytes; never split between chunks. Pointers in a
// stored Op are meaningless until read() has set them to the ring's own memory.
//
// Order. The writer must never write an operation while one that started earlier may still appear. A producer announces itself
// (kEntering) before it reads the clock; so a ring that the writer saw idle after reading the clock at T holds nothing, and will
// get nothing, that starts before T.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chunk_pool.hpp"
#include "op.hpp"

namespace fsr {

class Ring {
 public:
  // A copy of one operation's fixed part. `op.attr`, `op.set` say only whether `attr`, `set` are filled.
  struct Record {
    Op op;
    Attr attr;
    Attr set;
    uint32_t bytes = 0;  // whole record
    uint32_t entry_count = 0;
    const ThreadInfo* who = nullptr;  // lives as long as the capture
  };
  // What the writer's view of a record points to besides the ring.
  struct View {
    Op op;
    std::vector<DirEntry> entries;
  };

  // The pool outlives the ring. Throws std::bad_alloc.
  explicit Ring(ChunkPool& pool);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Producer. room() must have answered true for need(op) before enter(). enter() announces, then the caller reads the clock and
  // calls start(). finish() takes the operation again with its outcome; room(need_end(op)) must hold. abandon() instead of it
  // leaves no trace of the operation, unless the writer has seen that it was under way.
  static size_t need(const Op& op);
  static size_t need_end(const Op& op);
  size_t largest() const { return pool_.chunk_bytes(); }  // there is never room for more
  bool room(size_t bytes);
  void enter();
  void start(const Op& op);
  void finish(const Op& op);
  void abandon();
  // By anybody. Bytes, with what was left unused at the ends of chunks: ever put in, and not yet taken out.
  uint64_t total() const { return head_.load(std::memory_order_relaxed); }
  size_t fill() const { return size_t(total() - tail_.load(std::memory_order_relaxed)); }

  // Writer.
  enum class Open { kNone, kUnknown, kSince };
  Open open_since(int64_t* start) const;
  const Record* front();  // oldest completed record, or null
  void read(const Record& record, View& view) const;
  void pop(const Record& record);
  // The open request, if it is still open and started at `start`. While the visitor runs the producer can't complete it.
  template <class Visit>
  bool visit_open(int64_t start, Visit visit) {
    uint32_t expected = kStarted;
    if (!state_.compare_exchange_strong(expected, kReading, std::memory_order_acquire)) return false;
    bool same = open_start_.load(std::memory_order_relaxed) == start;
    if (same) visit(*open_);
    state_.store(kStarted, std::memory_order_release);
    return same;
  }

 private:
  enum State : uint32_t { kIdle, kEntering, kStarted, kReading, kEnding };
  std::byte* place();
  void store(Record& record, const Op& op, bool end);
  void begin_end();

  ChunkPool& pool_;
  // The producer's, open_ also the writer's while it reads that request.
  Chunk* chunk_;
  size_t at_ = 0;              // in chunk_
  Chunk* reserved_ = nullptr;  // chunk_ has too little room for the next record
  Record* open_ = nullptr;
  alignas(64) std::atomic<uint64_t> head_{0};
  std::atomic<uint32_t> state_{kIdle};
  std::atomic<int64_t> open_start_{0};
  // The writer's.
  alignas(64) std::atomic<uint64_t> tail_{0};
  Chunk* read_chunk_;
  size_t read_at_ = 0;
};

}  // namespace fsr
