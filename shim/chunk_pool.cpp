// SPDX-License-Identifier: Apache-2.0
#include "chunk_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "util/check.hpp"
#include "util/page_size.hpp"

namespace fsr::shim {

constexpr size_t kMostChunks = 65536;

ChunkPool::ChunkPool(size_t chunk_bytes, size_t capacity) : chunk_bytes_(whole_pages(chunk_bytes)), chunks_(kMostChunks) {
  if (!grow(std::max(capacity, chunk_bytes_)) && count_ == 0)
    throw std::system_error(ENOMEM, std::generic_category(), "can't allocate memory for recorded operations (see --ring)");
}

ChunkPool::~ChunkPool() {
  for (uint32_t i = 0; i < made_; ++i) munmap(chunks_[i]->memory, chunk_bytes_);
}

// Anonymous memory, not a memfd: no descriptor, which applications may have used up, and no file size limit.
Chunk* ChunkPool::map(int flags) {
  std::lock_guard lock(mutex_);
  if (made_ == kMostChunks) return nullptr;
  void* memory = mmap(nullptr, chunk_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto& chunk = chunks_[made_] = std::make_unique<Chunk>();
  chunk->memory = static_cast<std::byte*>(memory);
  chunk->number = made_++;
  return chunk.get();
}

Chunk* ChunkPool::make() { return map(0); }

bool ChunkPool::grow(size_t capacity) {
  while (this->capacity() < capacity) {
    Chunk* chunk = map(MAP_POPULATE);
    if (!chunk) return false;
    count_.fetch_add(1, std::memory_order_relaxed);
    give_back(chunk);
  }
  return true;
}

Chunk* ChunkPool::take() {
  uint64_t top = top_.load(std::memory_order_acquire);
  while (uint32_t(top) != 0) {
    FSR_CHECK(uint32_t(top) <= kMostChunks, "chunk " + std::to_string(uint32_t(top)));
    Chunk* chunk = chunks_[uint32_t(top) - 1].get();
    const uint64_t changes = (top >> 32) + 1;
    if (!top_.compare_exchange_weak(top, changes << 32 | chunk->below.load(std::memory_order_relaxed), std::memory_order_acquire))
      continue;
    free_.fetch_sub(1, std::memory_order_relaxed);
    chunk->filled.store(0, std::memory_order_relaxed);
    chunk->next.store(nullptr, std::memory_order_relaxed);
    return chunk;
  }
  return nullptr;
}

void ChunkPool::give_back(Chunk* chunk) {
  FSR_CHECK(chunks_[chunk->number].get() == chunk, "chunk " + std::to_string(chunk->number) + " is not of this pool");
  free_.fetch_add(1, std::memory_order_relaxed);
  uint64_t top = top_.load(std::memory_order_relaxed);
  do chunk->below.store(uint32_t(top), std::memory_order_relaxed);
  while (!top_.compare_exchange_weak(top, ((top >> 32) + 1) << 32 | (chunk->number + 1), std::memory_order_release,
                                     std::memory_order_relaxed));
}

}  // namespace fsr::shim
