// SPDX-License-Identifier: Apache-2.0
#include "op_source.hpp"

#include <algorithm>
#include <cstring>

namespace fsr {

constexpr size_t kChunk = 256 * 1024;

void* Arena::allocate(size_t bytes, size_t align) {
  for (;; ++chunk_, used_ = 0) {
    // A large request gets a chunk before the next one, which stays for what follows: a later one, if it is large enough.
    if (chunk_ == chunks_.size() || (used_ == 0 && bytes > chunks_[chunk_].size)) {
      const auto here = chunks_.begin() + ptrdiff_t(chunk_);
      const auto fits = std::find_if(here, chunks_.end(), [&](const Chunk& c) { return c.size >= bytes; });
      const size_t size = std::max(kChunk, bytes);
      if (fits != chunks_.end())
        std::rotate(here, fits, fits + 1);
      else
        chunks_.insert(here, Chunk{std::unique_ptr<std::byte[]>(new std::byte[size]), size});
    }
    const size_t at = (used_ + align - 1) & ~(align - 1);
    if (at + bytes > chunks_[chunk_].size) continue;
    used_ = at + bytes;
    return chunks_[chunk_].data.get() + at;
  }
}

std::string_view Arena::copy(std::string_view text) {
  if (text.empty()) return {};
  char* p = static_cast<char*>(allocate(text.size(), 1));
  memcpy(p, text.data(), text.size());
  return {p, text.size()};
}

void Arena::clear() {
  // One oversized chunk (a large write's content) must not be kept for ever.
  std::erase_if(chunks_, [](const Chunk& c) { return c.size > 8 * kChunk; });
  chunk_ = used_ = 0;
}

size_t Arena::memory() const {
  size_t bytes = 0;
  for (const Chunk& c : chunks_) bytes += c.size;
  return bytes;
}

Op copy_op(const Op& op, Arena& arena) {
  Op out = op;
  out.name = arena.copy(op.name);
  out.name2 = arena.copy(op.name2);
  out.data = arena.copy(op.data);
  if (op.set) *(const_cast<Attr*>(out.set = arena.make<Attr>())) = *op.set;
  if (op.attr) *(const_cast<Attr*>(out.attr = arena.make<Attr>())) = *op.attr;
  if (!op.entries.empty()) {
    DirEntry* e = arena.make<DirEntry>(op.entries.size());
    for (size_t i = 0; i < op.entries.size(); ++i) {
      e[i] = op.entries[i];
      e[i].name = arena.copy(e[i].name);
    }
    out.entries = {e, op.entries.size()};
  }
  if (!op.blocks.empty()) {
    BlockPrint* blocks = arena.make<BlockPrint>(op.blocks.size());
    std::copy(op.blocks.begin(), op.blocks.end(), blocks);
    out.blocks = {blocks, op.blocks.size()};
  }
  if (op.who) {
    ThreadInfo* who = arena.make<ThreadInfo>();
    *who = *op.who;
    who->command = arena.copy(who->command);
    out.who = who;
  }
  return out;
}

}  // namespace fsr
