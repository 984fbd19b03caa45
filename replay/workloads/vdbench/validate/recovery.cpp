// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/validate/recovery.hpp"

#include <algorithm>

#include "workloads/vdbench/validate/sector.hpp"

namespace fsr::vdbench {

namespace {

constexpr uint64_t kReadAtOnce = 1 << 20;

// How many sectors of a block its owner wrote there with that key.
uint64_t sectors_with(uint8_t key, uint64_t offset, std::string_view block, const std::string& owner) {
  uint64_t count = 0;
  for (uint64_t at = 0; at < block.size(); at += kSector) {
    const SectorMark expected{.offset = offset + at, .time = 0, .key = key, .owner = owner};
    SectorMark mark;
    const bool written = look_at_sector(block.data() + at, expected, &mark) == SectorState::written;
    count += written && mark.offset == expected.offset && mark.owner == owner && mark.key == key;
  }
  return count;
}

}  // namespace

RecoveryResult recover(const RecoveredKeys& known, ValidatedStorage& storage, Validator& validator,
                       const RecoveryOptions& options, const ReadStorage& read) {
  BlockKeys& keys = storage.keys;
  const uint64_t unit = known.unit, blocks = std::min<uint64_t>(known.keys.size(), keys.blocks());
  for (uint64_t block = 0; block < blocks; ++block) keys.set(block * unit, known.keys[block]);
  RecoveryResult result;
  for (const auto& [block, key] : known.pending) {
    if (block >= blocks) continue;
    const uint64_t offset = block * unit, sectors = unit / kSector;
    ++result.pending;
    const uint8_t before = keys.key(offset);
    keys.set(offset, BlockKeys::kUnknown);
    if (options.ignores_pending) continue;
    const std::string_view data = read(offset, unit);
    const uint64_t after = sectors_with(key, offset, data, storage.name), old = sectors_with(before, offset, data, storage.name);
    if (after == sectors) {
      ++result.done;
      keys.set(offset, key);
    } else if (after == 0 && (old == sectors || before == BlockKeys::kUnknown)) {
      ++result.not_done;
      keys.set(offset, before);
    } else if (after + old == sectors || before == BlockKeys::kUnknown) {
      ++result.torn;  // a write that was under way may be there in part
    } else {
      ++result.not_done;
      keys.set(offset, before);  // neither: it is checked below, and told
      validator.check(offset, data, "read of a pending write");
    }
  }
  if (options.reads_all)
    for (uint64_t offset = 0; offset < blocks * unit;) {
      const uint64_t length = std::min(std::max(kReadAtOnce / unit, uint64_t(1)) * unit, blocks * unit - offset);
      if (validator.known_length(offset, length)) validator.check(offset, read(offset, length), "read after recovery");
      offset += length;
    }
  for (uint64_t block = 0; block < blocks; ++block) keys.release(block * unit, unit);  // set() claims
  return result;
}

}  // namespace fsr::vdbench
