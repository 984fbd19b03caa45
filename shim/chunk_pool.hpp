// SPDX-License-Identifier: Apache-2.0
// The memory of the rings: chunks of equal size. A thread whose ring is full takes one, and the writer gives it back.
//
// Any thread may call take(), which uses no lock, no allocation and no system call. The chunk given back last is the first to be
// taken, so that a writer that keeps up leaves the rest untouched by caches. Chunks live as long as the pool.
//
// The free chunks are a stack (R. K. Treiber, 1986), whose top carries a count of its changes against the ABA problem.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace fsr::shim {

// Records lie in [0, filled). A chunk with a `next` gets no more of them.
struct alignas(64) Chunk {
  std::atomic<size_t> filled{0};
  std::atomic<Chunk*> next{nullptr};
  std::byte* memory = nullptr;
  uint32_t number = 0;             // number in the pool
  std::atomic<uint32_t> below{0};  // while it is free: number of the next one, from 1
};

class ChunkPool {
 public:
  // Throws std::system_error if there is no memory for the first chunk.
  ChunkPool(size_t chunk_bytes, size_t capacity);
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  Chunk* take();  // returns an empty chunk; null: none is free
  void give_back(Chunk* chunk);

  // Adds a chunk beyond the capacity, for a new ring. Null: there is no memory.
  Chunk* make();
  // Adds chunks until the pool has `capacity` bytes. Their pages are allocated at once. False: there is no more memory.
  bool grow(size_t capacity);

  size_t chunk_bytes() const { return chunk_bytes_; }
  size_t capacity() const { return count_.load(std::memory_order_relaxed) * chunk_bytes_; }
  size_t free_bytes() const { return free_.load(std::memory_order_relaxed) * chunk_bytes_; }
  bool low() const { return free_bytes() * 2 < capacity(); }

 private:
  Chunk* map(int flags);

  const size_t chunk_bytes_;
  std::atomic<uint64_t> top_{0};  // changes << 32 | number of the first free chunk, from 1
  std::atomic<size_t> count_{0}, free_{0};
  std::mutex mutex_;                            // held while chunks are made
  std::vector<std::unique_ptr<Chunk>> chunks_;  // filled from the front, never resized
  uint32_t made_ = 0;
};

}  // namespace fsr::shim
