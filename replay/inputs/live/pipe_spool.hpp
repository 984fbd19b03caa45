// SPDX-License-Identifier: Apache-2.0
// Takes bytes out of a pipe as soon as they come, and passes them on by another pipe. Bytes that the reader has not taken wait in
// an unnamed file in $TMPDIR, of a limited size. Beyond that, bytes stay in the first pipe. A thread of its own does the work.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "util/unique_fd.hpp"

namespace fsr {

class PipeSpool {
 public:
  // Takes over `fd`. `most`: bytes of the file. Throws std::system_error.
  PipeSpool(int fd, uint64_t most);
  ~PipeSpool();  // ends at once; what was not taken is lost
  PipeSpool(const PipeSpool&) = delete;
  PipeSpool& operator=(const PipeSpool&) = delete;

  int take_out();  // the reading end, which the caller closes

  // The following may be called by any thread.
  uint64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }  // bytes in the file
  uint64_t most_seen() const { return seen_.load(std::memory_order_relaxed); }   // most bytes so far
  bool was_full() const { return full_.load(std::memory_order_relaxed); }        // true: the pipe had to wait
  int failure() const { return failure_.load(std::memory_order_relaxed); }       // errno of the file; 0: none

 private:
  void work();
  bool receive();
  bool pass_on();
  bool send(const char* data, size_t size, size_t& sent);
  void keep(const char* data, size_t size);

  const uint64_t most_;
  UniqueFd in_, out_, reading_, file_, stop_;
  std::vector<char> buffer_;
  uint64_t read_at_ = 0, write_at_ = 0, freed_to_ = 0;  // offsets in the file
  bool ended_ = false;                                  // nothing more comes
  std::atomic<uint64_t> waiting_{0}, seen_{0};
  std::atomic<bool> full_{false};
  std::atomic<int> failure_{0};
  std::thread thread_;
};

}  // namespace fsr
