// SPDX-License-Identifier: Apache-2.0
#include "targets/raw/layout.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "util/units.hpp"

namespace fsr::raw {

static uint64_t whole_blocks(uint64_t bytes) { return (bytes + kExtentAlign - 1) / kExtentAlign * kExtentAlign; }

Layout::Layout(std::span<const FileUse> files, uint64_t begin, uint64_t end, bool wrap) {
  uint64_t at = begin, most = end > begin ? end - begin : 0;
  for (const FileUse& file : files) {
    if (file.end == 0) continue;
    if (file.end > most)
      throw std::runtime_error(
          fmt::format("has room for {}, expected room for a file that is used up to byte {}", format_size(most), file.end));
    uint64_t length = whole_blocks(file.end);
    bytes_ += length;
    if (length > end - at) {
      at = begin;
      ++wraps_;
    }
    if (!index_.try_emplace(file.object, uint32_t(extents_.size())).second) continue;
    extents_.push_back({file.object, at, file.end});
    at += length;
  }
  if (wraps_ && !wrap)
    throw std::runtime_error(
        fmt::format("{} files take {}, but only {} are available; use a larger device, or wrap=1, which lets files overlap",
                    format_count(extents_.size()), format_size(bytes_), format_size(most)));
}

const Extent* Layout::find(ObjectId object) const {
  auto found = index_.find(object);
  return found == index_.end() ? nullptr : &extents_[found->second];
}

void save_layout(const Layout& layout, const std::string& path) {
  const std::string partial = path + ".partial";
  FILE* out = fopen(partial.c_str(), "w");
  if (!out) throw std::runtime_error(path + ": " + strerror(errno));
  fmt::print(out, "object,start,bytes\n");
  for (const Extent& e : layout.extents()) fmt::print(out, "{},{},{}\n", e.object, e.start, e.length);
  bool failed = ferror(out) != 0;
  failed |= fclose(out) != 0;
  if (!failed && rename(partial.c_str(), path.c_str()) == 0) return;
  int error = errno;
  unlink(partial.c_str());
  throw std::runtime_error(path + ": " + strerror(error));
}

}  // namespace fsr::raw
