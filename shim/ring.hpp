// SPDX-License-Identifier: Apache-2.0
// The ring between one thread that serves requests and the writer thread: a chain of chunks from a pool that all rings share.
//
// Single producer, single consumer, no lock, no allocation, no system call while there is room. A producer has at most one
// request open at a time, which the writer can see in flight; it becomes a record when its outcome is known. So what a start
// costs does not depend on whether the memory of chunks is in the processor's caches, which it mostly is not.
//
// Layout of a record: Record, attr, set, blocks, name, name2, data, entries, as far as there are; padded to 8 bytes; never split
// between chunks. Pointers in a stored Op are meaningless until read() has set them to the ring's own memory.
//
// Order. The writer must never write an operation while one that started earlier may still appear. A producer announces itself
// (kEntering) before it reads the clock; so a ring that the writer saw idle after reading the clock at T holds nothing, and will
// get nothing, that starts before T.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "chunk_pool.hpp"
#include "op.hpp"
#include "own_thread.hpp"

namespace fsr::shim {

class Ring {
 public:
  // A copy of one operation's fixed part and of its thread.
  struct Record {
    Op op;
    OwnThread who;  // if op.who is not null
    size_t bytes;   // whole record
  };
  // Memory, besides the ring's, that the writer's view of a record points to.
  struct View {
    Op op;
    std::vector<DirEntry> entries;
  };

  // The pool outlives the ring. Throws std::bad_alloc.
  explicit Ring(ChunkPool& pool);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Producer. First comes enter(), which announces; then the caller reads the clock and calls start(). Memory that the operation
  // points to must stay unchanged until the end. Last, finish() takes the operation again with its outcome; room(need(op)) must
  // have returned true before. Alternatively, abandon() drops the operation, unless the writer has seen it in flight.
  static size_t need(const Op& op);
  size_t largest() const { return pool_.chunk_bytes(); }  // there is never room for more
  bool room(size_t bytes);
  void enter();
  void leave();  // instead of start(): there is no operation
  void start(const Op& op);
  void finish(const Op& op);
  void abandon();
  // Any thread. Bytes put in so far, and bytes not yet taken out. Both count unused ends of chunks.
  uint64_t total() const { return head_.load(std::memory_order_relaxed); }
  size_t fill() const { return size_t(total() - tail_.load(std::memory_order_relaxed)); }

  // The recorder's, with its mutex held. Whether a thread has borrowed the ring, and whether the merger looks at it.
  bool lent = false, merged = false;

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
    struct Release {  // also when the visitor throws
      std::atomic<uint32_t>& state;
      ~Release() { state.store(kStarted, std::memory_order_release); }
    } release{state_};
    if (open_start_.load(std::memory_order_relaxed) != start) return false;
    visit(std::as_const(open_));
    return true;
  }

 private:
  enum State : uint32_t { kIdle, kEntering, kStarted, kReading, kEnding };
  void use_reserved();
  void begin_end();

  ChunkPool& pool_;
  // The producer's, open_ also the writer's while it reads that request.
  Op open_;
  Chunk* chunk_;
  size_t at_ = 0;              // in chunk_
  Chunk* reserved_ = nullptr;  // chunk_ has too little room for the next record
  alignas(64) std::atomic<uint64_t> head_{0};
  std::atomic<uint32_t> state_{kIdle};
  std::atomic<int64_t> open_start_{0};
  // The writer's.
  alignas(64) std::atomic<uint64_t> tail_{0};
  Chunk* read_chunk_;
  size_t read_at_ = 0;
};

}  // namespace fsr::shim
