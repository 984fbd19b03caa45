// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/bad_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace fsr::vdbench {

namespace {

auto place(const BadBlock& block) { return std::tie(block.what, block.location.lun, block.location.lba); }

// True if `next` continues the range.
bool continues(const BadBlock& range, const BadBlock& next) {
  return range.what == next.what && range.location.lun == next.location.lun && range.kind == next.kind &&
         range.location.lba + range.size == next.location.lba;
}

}  // namespace

void BadBlocks::add(BadBlock block) {
  std::lock_guard lock(mutex_);
  if (blocks_.size() < kMost)
    blocks_.push_back(std::move(block));
  else
    ++more_;
}

std::vector<std::string> BadBlocks::lines() const {
  std::lock_guard lock(mutex_);
  std::vector<BadBlock> ranges;
  std::vector<BadBlock> sorted = blocks_;
  std::ranges::stable_sort(sorted, [](const BadBlock& a, const BadBlock& b) { return place(a) < place(b); });
  for (const BadBlock& block : sorted) {
    if (!ranges.empty() && continues(ranges.back(), block))
      ranges.back().size += block.size;
    else
      ranges.push_back(block);
  }
  std::vector<std::string> lines;
  if (!ranges.empty()) lines.push_back(fmt::format("Ranges of wrong blocks: {}", ranges.size()));
  for (const BadBlock& range : ranges) {
    const uint64_t lba = range.location.lba, end = lba + range.size;
    const std::string file = range.what.starts_with("fsd=") ? fmt::format(" file={}", range.location.lun) : "";
    lines.push_back(fmt::format("{}{}: lba={} to {} ({:#x} to {:#x}), {} bytes: {}", range.what, file, lba, end, lba, end,
                                range.size, range.kind));
  }
  if (more_) lines.push_back(fmt::format("{} more wrong blocks are not summed up", more_));
  return lines;
}

}  // namespace fsr::vdbench
