// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/uncommitted.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/payload.hpp"

namespace fsr::nfs {

bool Budget::take(uint64_t bytes) {
  if (left_.fetch_sub(int64_t(bytes), std::memory_order_relaxed) >= int64_t(bytes)) return true;
  give(bytes);
  return false;
}

std::shared_ptr<const KeptData> KeptData::keep(std::string_view bytes, Budget& budget) {
  return budget.take(bytes.size()) ? std::make_shared<const KeptData>(bytes, budget) : nullptr;
}

std::string_view DataSource::data(uint64_t offset, size_t size) const {
  return kept ? kept->bytes().substr(size_t(offset + shift), size) : Payload::shared().get(object, offset + shift, size);
}

bool Uncommitted::wrote(uint64_t begin, uint64_t end, const DataSource& source, uint64_t verifier) {
  if (begin >= end) return false;
  const bool restarted = verifier != verifier_ && suspect(UINT64_MAX, verifier);
  verifier_ = verifier;
  const auto next = remove(begin, end);
  const uint64_t number = ++writes_;
  if (source.known && budget_.take(kExtentCost)) {
    ++counted_;
    join_previous(extents_.emplace_hint(next, begin, Extent{end, source, verifier, number, false}));
  } else {
    unknown_.pending = true;
    unknown_.number = number;
    unknown_.verifier = verifier;
  }
  settle();
  return restarted;
}

void Uncommitted::cut(uint64_t begin, uint64_t end) {
  remove(begin, end);
  settle();
}

bool Uncommitted::committed(uint64_t upto, uint64_t verifier) {
  const bool restarted = suspect(upto, verifier);
  verifier_ = verifier;
  std::erase_if(extents_, [&](const auto& entry) { return entry.second.number <= upto && !entry.second.lost; });
  if (unknown_.number <= upto) unknown_.pending = false;
  settle();
  return restarted;
}

std::vector<LostData> Uncommitted::lost() const {
  std::vector<LostData> lost;
  for (const auto& [begin, e] : extents_)
    if (e.lost) lost.push_back({begin, e.end, e.source, e.number});
  return lost;
}

std::optional<LostData> Uncommitted::next_lost(uint64_t from) const {
  auto it = extents_.upper_bound(from);
  if (it != extents_.begin() && std::prev(it)->second.end > from) --it;
  while (it != extents_.end() && !it->second.lost) ++it;
  if (it == extents_.end()) return std::nullopt;
  return LostData{std::max(it->first, from), it->second.end, it->second.source, it->second.number};
}

// Where somebody wrote meanwhile, the server may have done that before this: it is to be written once more.
void Uncommitted::wrote_again(const LostData& part, uint64_t verifier) {
  split(part.begin);
  split(part.end);
  const uint64_t number = ++writes_;
  for (auto it = extents_.lower_bound(part.begin); it != extents_.end() && it->first < part.end; ++it) {
    Extent& e = it->second;
    e.lost = e.number > part.number;
    if (e.lost) continue;
    e.verifier = verifier;
    e.number = number;
  }
  settle();
}

bool Uncommitted::take_unknown_loss() { return std::exchange(unknown_.lost, false); }

// Marks what the first `upto` writes left behind under another verifier. True: there is some, and all was well before.
bool Uncommitted::suspect(uint64_t upto, uint64_t verifier) {
  bool before = unknown_.lost, found = false;
  for (auto& [begin, e] : extents_) {
    before |= e.lost;
    if (e.lost || e.number > upto || e.verifier == verifier) continue;
    e.lost = found = true;
  }
  if (unknown_.pending && !unknown_.lost && unknown_.number <= upto && unknown_.verifier != verifier)
    unknown_.lost = found = true;
  return found && !before;
}

// No extent reaches across `at`.
void Uncommitted::split(uint64_t at) {
  auto it = extents_.lower_bound(at);
  if (it == extents_.begin()) return;
  --it;
  if (it->second.end <= at) return;
  Extent rest = it->second;
  it->second.end = at;
  extents_.emplace_hint(std::next(it), at, std::move(rest));
}

// Returns what follows.
Uncommitted::Extents::iterator Uncommitted::remove(uint64_t begin, uint64_t end) {
  if (extents_.empty()) return extents_.end();
  split(begin);
  split(end);
  return extents_.erase(extents_.lower_bound(begin), extents_.lower_bound(end));
}

// Files are mostly written from front to back: one extent.
void Uncommitted::join_previous(Extents::iterator it) {
  if (it == extents_.begin()) return;
  auto previous = std::prev(it);
  Extent &a = previous->second, &b = it->second;
  if (a.end != it->first || a.lost || a.verifier != b.verifier || a.source.kept || a.source != b.source) return;
  a.end = b.end;
  a.number = b.number;
  extents_.erase(it);
}

// The budget pays for what there is. A split may have it overdrawn by a little.
void Uncommitted::settle() {
  const size_t there = extents_.size();
  if (there < counted_) budget_.give((counted_ - there) * kExtentCost);
  if (there > counted_) budget_.draw((there - counted_) * kExtentCost);
  counted_ = there;
}

}  // namespace fsr::nfs
