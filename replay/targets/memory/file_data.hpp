// SPDX-License-Identifier: Apache-2.0
// The content of one file in memory: sparse, in chunks of 4 KiB (the granularity of holes on most file systems). A missing chunk
// is a hole; a chunk shorter than 4 KiB reads as zeros behind its end. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace fsr {

class FileData {
 public:
  static constexpr uint64_t kChunk = 4096;

  uint64_t size() const { return size_; }
  uint64_t allocated() const { return chunks_.size() * kChunk; }
  // Appends what is there between offset and offset + length, at most up to the end of file, to `out`.
  void read(uint64_t offset, uint64_t length, std::string& out) const;
  void write(uint64_t offset, std::string_view bytes);  // offset + bytes.size() must not overflow
  void truncate(uint64_t size);
  void punch(uint64_t offset, uint64_t length);  // zeros; whole chunks become holes; the size stays
  // Moves everything at or behind `from` to `to` (both multiples of kChunk); from > to drops what lay between.
  void shift(uint64_t from, uint64_t to);
  // First offset >= `offset` that holds data, or is a hole (the end of file counts as one). False: none before the end.
  bool seek_data(uint64_t offset, uint64_t* found) const;
  bool seek_hole(uint64_t offset, uint64_t* found) const;

 private:
  std::map<uint64_t, std::string> chunks_;  // by offset / kChunk
  uint64_t size_ = 0;
};

}  // namespace fsr
