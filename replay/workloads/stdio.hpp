// SPDX-License-Identifier: Apache-2.0
// The system calls that glibc's fread(3) and fwrite(3) make for the transfers of a program, for one stream from its beginning on.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fsr {

// fwrite fills the buffer, and writes it when more data comes. fread fills the buffer when more is wanted. Both transfer whole
// buffers directly.
class Stdio {
 public:
  static constexpr int64_t kBuffer = 4096;  // bytes: st_blksize of most files

  struct Writes {
    bool looks = false;  // the buffer is made now, so stdio calls fstat(2) for its size first
    int64_t held = 0;    // bytes to write from the buffer, after that
    int64_t direct = 0;  // bytes to write directly, after that
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
  // Returns the bytes in the buffer. After writes, closing has to write them.
  int64_t held() const { return held_; }

  struct Read {
    bool looks = false;
    int64_t length = 0;  // 0: the buffer had all that was wanted
  };
  // Takes bytes from the buffer and subtracts them from `bytes`, which the program wants. Returns the read for the rest.
  Read read(int64_t& bytes) {
    const int64_t has = std::min(bytes, held_);
    held_ -= has;
    bytes -= has;
    if (bytes == 0) return {};
    return {.looks = make(), .length = bytes < kBuffer ? kBuffer : bytes - bytes % kBuffer};
  }
  // Takes the result of that read. `done`: bytes read. `bytes`: as for read().
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
