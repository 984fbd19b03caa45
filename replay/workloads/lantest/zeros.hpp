// SPDX-License-Identifier: Apache-2.0
// Zeros to write. Memory that was never written is the kernel's single page of zeros, which stays in the processor's cache while
// it is copied. (afp_lantest's buffer is the same.) Read only; any thread.
#pragma once

#include <sys/mman.h>

#include <new>
#include <string_view>

namespace fsr::lantest {

class Zeros {
 public:
  explicit Zeros(size_t bytes) : bytes_(bytes), memory_(mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Zeros() { munmap(memory_, bytes_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;

  size_t size() const { return bytes_; }
  std::string_view first(size_t bytes) const { return {static_cast<const char*>(memory_), bytes}; }
  std::string_view all() const { return first(bytes_); }

 private:
  const size_t bytes_;
  void* const memory_;
};

}  // namespace fsr::lantest
