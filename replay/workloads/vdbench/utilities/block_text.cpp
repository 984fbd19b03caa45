// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/block_text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "util/unique_fd.hpp"
#include "workloads/vdbench/validate/sector.hpp"
#include "workloads/vdbench/validate/sector_text.hpp"

namespace fsr::vdbench {

namespace {

std::string sector_state_text(const char* sector, uint64_t lba) {
  SectorMark mark;
  switch (look_at_sector(sector, {.offset = lba}, &mark)) {
    case SectorState::zeros:
      return "zeros";
    case SectorState::written:
    case SectorState::damaged: {
      const bool complete = look_at_sector(sector, {.offset = lba}, &mark) == SectorState::written;
      return fmt::format("{}written for lba={}{} of {} at {} by {}, key {}", complete ? "" : "damaged, ", mark.offset,
                         mark.offset == lba ? "" : " (elsewhere, or a file's offset in its tree)", mark.owner,
                         wall_text(mark.time), writer_text(mark.run, mark.rank, mark.thread), mark.key);
    }
    default:
      return "not written by data validation";
  }
}

}  // namespace

std::string block_text(const std::string& file, uint64_t lba, uint64_t length) {
  if (length == 0 || length % kSector || lba % kSector)
    throw std::runtime_error(fmt::format("{}: expected an LBA in bytes and a size that are multiples of {}", file, kSector));
  UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw std::runtime_error(file + ": " + strerror(errno));
  std::string block(length, '\0');
  size_t got = 0;
  while (got < length) {
    const ssize_t n = pread(fd.get(), block.data() + got, length - got, off_t(lba + got));
    if (n < 0) throw std::runtime_error(fmt::format("{}: {}", file, strerror(errno)));
    if (n == 0) throw std::runtime_error(fmt::format("{}: ends at byte {}, expected {}", file, lba + got, lba + length));
    got += size_t(n);
  }
  std::string text;
  for (uint64_t at = 0; at < length; at += kSector)
    text += fmt::format("sector at byte {} ({:#x}): {}\n", lba + at, lba + at, sector_state_text(block.data() + at, lba + at)) +
            dump_text(std::string_view(block).substr(at, kSector), lba + at);
  return text;
}

}  // namespace fsr::vdbench
