// SPDX-License-Identifier: Apache-2.0
// Memory that begins at a page. Devices can transfer directly from and to it, and the kernel copies it faster.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "util/page_size.hpp"

namespace fsr {

class PageBuffer {
 public:
  PageBuffer() = default;
  explicit PageBuffer(size_t bytes, char fill = 0) : size_(bytes) {
    const size_t pages = whole_pages(bytes);
    memory_.reset(static_cast<char*>(aligned_alloc(page_size(), pages)));
    if (!memory_ && pages) throw std::bad_alloc();
    if (pages) memset(memory_.get(), fill, pages);
  }

  char* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  char& operator[](size_t i) const { return memory_.get()[i]; }
  char* begin() const { return data(); }
  char* end() const { return data() + size_; }

 private:
  struct Free {
    void operator()(char* memory) const { free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  size_t size_ = 0;
};

}  // namespace fsr
