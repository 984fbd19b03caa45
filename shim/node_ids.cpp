// SPDX-License-Identifier: Apache-2.0
#include "node_ids.hpp"

#include <bit>
#include <new>

namespace fsr::shim {

NodeIds::~NodeIds() {
  for (auto& chunk : chunks_) delete[] chunk.load();
}

NodeIds::SlotIndex NodeIds::index_of(uint32_t slot) {
  const unsigned chunk = unsigned(std::bit_width(slot / kFirstChunk + 1)) - 1;
  return {chunk, slot - kFirstChunk * ((1u << chunk) - 1)};
}

uint64_t NodeIds::give(Inode* inode) {
  uint64_t id;
  if (free_.empty()) {
    id = next_;
    const SlotIndex index = index_of(next_);
    if (index.chunk >= kChunks) throw std::bad_alloc();
    if (!chunks_[index.chunk].load()) chunks_[index.chunk] = new Slot[kFirstChunk << index.chunk];
    ++next_;
  } else {
    id = free_.back() + (uint64_t(1) << 32);
    free_.pop_back();
  }
  const SlotIndex index = index_of(uint32_t(id));
  Slot& slot = chunks_[index.chunk].load()[index.offset];
  slot.inode = inode;
  slot.id = id;
  return id;
}

void NodeIds::take_back(uint64_t id) {
  const SlotIndex index = index_of(uint32_t(id));
  Slot& slot = chunks_[index.chunk].load()[index.offset];
  slot.id = 0;
  slot.inode = nullptr;
  // The last number of a slot: it rests from now on.
  if (id >> 32 != INT32_MAX) free_.push_back(id);
}

Inode* NodeIds::find(uint64_t id) const {
  const SlotIndex index = index_of(uint32_t(id));
  if (index.chunk >= kChunks) return nullptr;
  const Slot* chunk = chunks_[index.chunk].load(std::memory_order_acquire);
  if (!chunk) return nullptr;
  const Slot& slot = chunk[index.offset];
  return slot.id.load(std::memory_order_acquire) == id ? slot.inode.load(std::memory_order_relaxed) : nullptr;
}

}  // namespace fsr::shim
