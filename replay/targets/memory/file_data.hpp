// SPDX-License-Identifier: Apache-2.0
// The content of one file in memory. It is sparse, in chunks of 4 KiB, the size of holes on most file systems. A missing chunk is
// a hole. A shorter chunk reads as zeros behind its end. Not thread-safe.
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
  // Appends the bytes from offset to offset + length, at most up to the end of the file, to `out`.
  void read(uint64_t offset, uint64_t length, std::string& out) const;
  void write(uint64_t offset, std::string_view bytes);  // offset + bytes.size() must not overflow
  void truncate(uint64_t size);
  void punch(uint64_t offset, uint64_t length);  // makes the range zeros, and whole chunks holes; keeps the size
  // Moves the content from `from` on to `to` (both multiples of kChunk). from > to: the content between them is dropped.
  void shift(uint64_t from, uint64_t to);
  // Find the first offset >= `offset` that is data or a hole (the end of the file counts as a hole). False: there is none.
  bool seek_data(uint64_t offset, uint64_t* found) const;
  bool seek_hole(uint64_t offset, uint64_t* found) const;

 private:
  std::map<uint64_t, std::string> chunks_;  // by offset / kChunk
  uint64_t size_ = 0;
};

}  // namespace fsr
