// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/utilities.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "workloads/vdbench/language/values.hpp"
#include "workloads/vdbench/utilities/input.hpp"
#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

namespace {

std::string sector_state_text(const char* sector, uint64_t lba) {
  SectorMark mark;
  const SectorState state = look_at_sector(sector, {.offset = lba}, &mark);
  switch (state) {
    case SectorState::zeros:
      return "zeros";
    case SectorState::written:
    case SectorState::damaged:
      return fmt::format("{}written for lba={}{} of {} at {} by {}, key {}", state == SectorState::written ? "" : "damaged, ",
                         mark.offset, mark.offset == lba ? "" : " (elsewhere, or a file's offset in its tree)", mark.owner,
                         wall_text(mark.time), writer_text(mark.run, mark.rank, mark.thread), mark.key);
    default:
      return "not written by data validation";
  }
}

}  // namespace

std::string block_text(const std::string& file, uint64_t lba, uint64_t length) {
  if (length == 0 || length % kSector || lba % kSector)
    throw_error("{}: expected an LBA in bytes and a size that are multiples of {}", file, kSector);
  Input input(file);
  const std::string_view block = input.read(lba, length);
  if (block.size() < length) throw_error("{}: ends at byte {}, expected {}", file, lba + block.size(), lba + length);
  std::string text;
  for (uint64_t at = 0; at < length; at += kSector)
    text += fmt::format("sector at byte {} ({:#x}): {}\n", lba + at, lba + at, sector_state_text(block.data() + at, lba + at)) +
            dump_text(block.substr(at, kSector), lba + at);
  return text;
}

}  // namespace fsr::vdbench
