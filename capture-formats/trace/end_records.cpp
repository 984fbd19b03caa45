// SPDX-License-Identifier: Apache-2.0
#include "end_records.hpp"

#include <algorithm>

#include "util/memory.hpp"

namespace fsr {

constexpr size_t kMostPlaces = 1 << 25;  // half a GB of places
constexpr size_t kLoadedBlocks = 256;    // blocks in memory at most,
constexpr size_t kLoadedOps = 1 << 17;   // with this many operations, or one block

EndRecords::EndRecords(ReadBlock read, size_t in_memory)
    : read_(std::move(read)),
      in_memory_(in_memory),
      most_(in_memory + std::min(kMostPlaces, memory_budget() / 4 / sizeof(Place))) {}

bool EndRecords::collect(size_t block) {
  bool all = true;
  read_(block, [&](const Op& op) {
    if (ends_.size() < in_memory_)
      ends_.emplace(op.seq, End{copy_op(op, arena_), block});
    else if (places_.size() < most_ - in_memory_)
      places_.push_back({op.seq, block}), sorted_ = false;
    else
      all = false;
  });
  return all;
}

const Op* EndRecords::find(uint64_t seq) {
  if (auto it = ends_.find(seq); it != ends_.end()) return &it->second.op;
  auto before = [](const Place& a, const Place& b) { return a.seq != b.seq ? a.seq < b.seq : a.block < b.block; };
  if (!sorted_) std::sort(places_.begin(), places_.end(), before);
  sorted_ = true;
  const auto place = std::lower_bound(places_.begin(), places_.end(), Place{seq, 0}, before);
  if (place == places_.end() || place->seq != seq) return nullptr;
  const Block& block = load(place->block);
  const auto it = block.ops.find(seq);
  return it == block.ops.end() ? nullptr : &it->second;
}

EndRecords::Block& EndRecords::load(size_t block) {
  auto it = loaded_.find(block);
  if (it == loaded_.end()) {
    while (loaded_.size() >= kLoadedBlocks || (loaded_ops_ > kLoadedOps && !loaded_.empty())) {
      const auto oldest =
          std::min_element(loaded_.begin(), loaded_.end(), [](auto& a, auto& b) { return a.second.used < b.second.used; });
      loaded_ops_ -= oldest->second.ops.size();
      loaded_.erase(oldest);
    }
    it = loaded_.try_emplace(block).first;
    read_(block, [&](const Op& op) { it->second.ops.emplace(op.seq, copy_op(op, it->second.arena)); });
    loaded_ops_ += it->second.ops.size();
  }
  it->second.used = ++uses_;
  return it->second;
}

void EndRecords::each_across(uint64_t seq, size_t block, const Visit& visit) {
  std::vector<const Op*> found;
  auto hand_out = [&] {
    std::sort(found.begin(), found.end(), [](const Op* a, const Op* b) { return a->end() < b->end(); });
    for (const Op* op : found) visit(*op);
    found.clear();
  };
  for (const auto& [number, end] : ends_)
    if (number < seq && end.block > block) found.push_back(&end.op);
  hand_out();
  // Later blocks have the later ends.
  std::vector<size_t> blocks;
  for (const Place& p : places_)
    if (p.seq < seq && p.block > block) blocks.push_back(p.block);
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (size_t b : blocks) {
    for (const auto& [number, op] : load(b).ops)
      if (number < seq && !ends_.contains(number)) found.push_back(&op);
    hand_out();
  }
}

}  // namespace fsr
