// SPDX-License-Identifier: Apache-2.0
#include "import_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "util/units.hpp"

namespace fsr {

constexpr size_t kRead = 256 << 10;

ImportInput::ImportInput(int fd, std::string name) : file_(std::in_place, fd), name_(std::move(name)) {}
ImportInput::ImportInput(std::string_view bytes) : name_("input"), buffer_(bytes), ended_(true) {}

bool ImportInput::fill(size_t wanted) {
  while (!ended_ && buffer_.size() - at_ < wanted) {
    if (at_ > kRead) {
      buffer_.erase(0, at_);
      at_ = 0;
    }
    const size_t had = buffer_.size();
    buffer_.resize(had + kRead);
    const ssize_t n = file_->read(buffer_.data() + had, kRead);
    buffer_.resize(had + size_t(n > 0 ? n : 0));
    if (n < 0) throw ImportError(escape_text(name_) + ": " + strerror(errno));
    ended_ = n == 0;
  }
  return buffer_.size() - at_ >= wanted;
}

std::string_view ImportInput::head() {
  fill(kHead);
  return rest().substr(0, kHead);
}

bool ImportInput::line(std::string_view* out) {
  size_t end, searched = 0;
  while ((end = rest().find('\n', searched)) == std::string_view::npos) {
    searched = rest().size();
    if (searched >= kLongestLine || !fill(searched + 1)) break;
  }
  const bool open = end == std::string_view::npos;
  if (open) end = std::min(rest().size(), kLongestLine);
  if (open && end == 0) return false;
  open_ = open;
  *out = rest().substr(0, end);
  if (out->ends_with('\r')) out->remove_suffix(1);
  at_ += end + !open_;
  offset_ += end + !open_;
  ++lines_;
  return true;
}

bool ImportInput::bytes(size_t size, std::string_view* out) {
  if (!fill(size)) return false;
  *out = rest().substr(0, size);
  at_ += size;
  offset_ += size;
  return true;
}

uint64_t ImportInput::file_offset() const { return file_ ? file_->offset() : offset_; }

std::string ImportInput::place() const {
  return escape_text(name_) + (lines_ ? fmt::format(":{}", lines_) : fmt::format(": byte {}", offset_));
}

}  // namespace fsr
