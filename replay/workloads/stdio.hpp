// SPDX-License-Identifier: Apache-2.0
// Which transfers glibc's fread(3) and fwrite(3) make of what a program asks for, one stream from its beginning on.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fsr {

// fwrite fills the buffer, and writes it when more comes; fread fills it when more is wanted; whole buffers of either go past it.
class Stdio {
 public:
  static constexpr int64_t kBuffer = 4096;  // bytes: st_blksize of most files

  struct Writes {
    bool looks = false;  // at the file first, for the size of the buffer, which is made now
    int64_t held = 0;    // bytes from the buffer, then
    int64_t direct = 0;  // bytes past it
  };
  Writes write(int64_t bytes) {
    const int64_t fits = std::min(bytes, made_ ? kBuffer - held_ : 0);
    held_ += fits;
    bytes -= fits;
    if (bytes == 0) return {};
    const Writes writes = {.looks = make(), .held = held_, .direct = bytes - bytes % kBuffer};
    held_ = bytes % kBuffer;
    return writes;
  }
  // Bytes that were written or read and lie in the buffer: what closing has to write.
  int64_t held() const { return held_; }

  struct Read {
    bool looks = false;
    int64_t length = 0;  // 0: the buffer has all that is still wanted, which is taken
  };
  // What to read next for a program that still wants `bytes`, which becomes less by what the buffer has.
  Read read(int64_t& bytes) {
    const int64_t has = std::min(bytes, held_);
    held_ -= has;
    bytes -= has;
    if (bytes == 0) return {};
    return {.looks = make(), .length = bytes < kBuffer ? kBuffer : bytes - bytes % kBuffer};
  }
  // Takes the result of that read: `done` bytes. `bytes`: as for read().
  void came(int64_t done, int64_t& bytes) {
    if (bytes < kBuffer)
      held_ = done;
    else
      bytes -= done;
  }

 private:
  bool make() {
    const bool looks = !made_;
    made_ = true;
    return looks;
  }
  bool made_ = false;
  int64_t held_ = 0;
};

}  // namespace fsr
