// SPDX-License-Identifier: Apache-2.0
// Foreign input of any kind, read once from the front: as lines, or as bytes. A file, a pipe or standard input, also compressed
// by gzip. Memory grows with the longest line or piece. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "gzip_file.hpp"

namespace fsr {

// Error after which an importer can't go on. what() is one line that begins with the place: "strace.log:12: expected ...".
struct ImportError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ImportInput {
 public:
  static constexpr size_t kHead = 64 << 10;
  static constexpr size_t kLongestLine = 32 << 20;  // bytes; what is longer is read in parts of this size

  ImportInput(int fd, std::string name);         // takes over `fd`; `name` is for messages
  explicit ImportInput(std::string_view bytes);  // reads the caller's bytes, which must stay valid
  ImportInput(const ImportInput&) = delete;
  ImportInput& operator=(const ImportInput&) = delete;

  const std::string& name() const { return name_; }
  std::string_view head();  // the first kHead bytes, or all; before anything was read

  // Returns the next line without its end (\n or \r\n), valid until the next call. False: the end of the input.
  bool line(std::string_view* out);
  uint64_t line_number() const { return lines_; }  // of the line returned last, from 1; 0: lines are not read
  bool last_line_open() const { return open_; }    // true: it ended with the input, not with a line end

  // Returns exactly `size` bytes, valid until the next call. False: the input has fewer, and none are consumed.
  bool bytes(size_t size, std::string_view* out);
  uint64_t offset() const { return offset_; }  // bytes consumed
  uint64_t file_offset() const;                // bytes of the file that were read, for progress
  std::string place() const;                   // "strace.log:12", "x.pcap: byte 4711"
  // Returns why compressed input ended early. Empty: it did not.
  std::string damage() const { return file_ ? file_->damage() : std::string(); }

 private:
  bool fill(size_t wanted);  // reads until the buffer has so many bytes, or the input ends
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

  std::optional<GzipFile> file_;
  std::string name_, buffer_;
  size_t at_ = 0;
  uint64_t offset_ = 0, lines_ = 0;
  bool ended_ = false, open_ = false;
};

}  // namespace fsr
