// SPDX-License-Identifier: Apache-2.0
// A file, pipe or standard input, read once from the front: unpacked if gzip compressed it, otherwise as it is. One thread.
#pragma once

#include <sys/types.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "util/unique_fd.hpp"

namespace fsr {

class GzipFile {
 public:
  explicit GzipFile(int fd);  // takes over `fd`
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  // Reads at most `size` bytes, from as many members as gzip wrote. Returns their number. 0: the end, or damage. -1: errno says
  // why.
  ssize_t read(char* out, size_t size);
  uint64_t offset() const { return taken_ - z_.avail_in; }  // bytes of the file that were read
  const std::string& damage() const { return damage_; }     // why compressed input can't be read further; empty: it can

 private:
  ssize_t more();               // fetches input. Returns its bytes; 0: the end; -1: errno
  ssize_t unpack(size_t size);  // into z_.next_out

  UniqueFd fd_;
  z_stream z_{};
  std::vector<unsigned char> input_;
  std::string damage_;
  uint64_t taken_ = 0;
  bool begun_ = false, packed_ = false, in_member_ = false;
};

}  // namespace fsr
