// SPDX-License-Identifier: Apache-2.0
#include "targets/nfs/uncommitted.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/payload.hpp"
#include "util/check.hpp"

namespace fsr::nfs {

bool Budget::take(uint64_t bytes) {
  if (left_.fetch_sub(int64_t(bytes), std::memory_order_relaxed) >= int64_t(bytes)) return true;
  give(bytes);
  return false;
}

std::shared_ptr<const RetainedData> RetainedData::keep(std::string_view bytes, Budget& budget) {
  return budget.take(bytes.size()) ? std::make_shared<const RetainedData>(bytes, budget) : nullptr;
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
    join_previous(extents_.emplace_hint(next, begin, Extent{end, source, verifier, number, number, false, 0}));
  } else {
    if (!unknown_.pending) unknown_.oldest = number;
    unknown_.pending = true;
    unknown_.newest = number;
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
  std::erase_if(extents_, [&](const auto& entry) {
    if (entry.second.newest > upto || entry.second.lost) return false;
    committed_stamp_ = std::max(committed_stamp_, entry.second.stamp);
    return true;
  });
  if (unknown_.newest <= upto) unknown_.pending = false;
  settle();
  return restarted;
}

bool Uncommitted::has_lost() const {
  return std::any_of(extents_.begin(), extents_.end(), [](const auto& entry) { return entry.second.lost; });
}

std::optional<LostData> Uncommitted::take_lost(uint64_t from, uint64_t upto, uint64_t most) {
  auto it = first_behind(from);
  while (it != extents_.end() && !it->second.lost) ++it;
  if (it == extents_.end() || it->first >= upto) return std::nullopt;
  const uint64_t begin = std::max(it->first, from), end = std::min(it->second.end, upto);
  const LostData piece{begin, begin + std::min(most, end - begin), it->second.source, it->second.newest};
  FSR_CHECK(piece.begin < piece.end, "an empty piece of lost data");
  under_way_.emplace_back(piece.begin, piece.end);
  return piece;
}

// Leaves data that another write has written there meanwhile unchanged. That write detects the race.
void Uncommitted::wrote_again(const LostData& piece, uint64_t bytes, uint64_t verifier, uint64_t stamp) {
  leave(piece);
  const uint64_t end = std::min(piece.end, piece.begin + bytes), number = ++writes_;
  split(piece.begin);
  split(end);
  for (auto it = extents_.lower_bound(piece.begin); it != extents_.end() && it->first < end; ++it) {
    Extent& e = it->second;
    e.stamp = stamp;
    if (e.newest > piece.number) continue;
    e.lost = false;
    e.verifier = verifier;
    e.oldest = e.newest = number;
  }
  settle();
}

void Uncommitted::leave(const LostData& piece) {
  const auto it = std::find(under_way_.begin(), under_way_.end(), std::pair(piece.begin, piece.end));
  if (it != under_way_.end()) under_way_.erase(it);
}

bool Uncommitted::raced(uint64_t begin, uint64_t end, uint64_t stamp) const {
  if (begin >= end) return false;
  if (committed_stamp_ > stamp) return true;
  for (const auto& [from, to] : under_way_)
    if (from < end && begin < to) return true;
  for (auto it = first_behind(begin); it != extents_.end() && it->first < end; ++it)
    if (it->second.stamp > stamp) return true;
  return false;
}

void Uncommitted::lose(uint64_t begin, uint64_t end) {
  split(begin);
  split(end);
  const auto first = extents_.lower_bound(begin);
  if (first == extents_.end() || first->first != begin) unknown_.lost = true;  // the write's data was not kept
  for (auto it = first; it != extents_.end() && it->first < end; ++it) it->second.lost = true;
  settle();
}

bool Uncommitted::take_unknown_loss() { return std::exchange(unknown_.lost, false); }

// Marks data of the first `upto` writes that has another verifier as lost. Newer data that was joined to it has the same verifier
// and is lost, too. True: there is such data, and none was lost before.
bool Uncommitted::suspect(uint64_t upto, uint64_t verifier) {
  bool before = unknown_.lost, found = false;
  for (auto& [begin, e] : extents_) {
    before |= e.lost;
    if (e.lost || e.oldest > upto || e.verifier == verifier) continue;
    e.lost = found = true;
  }
  if (unknown_.pending && !unknown_.lost && unknown_.oldest <= upto && unknown_.verifier != verifier) {
    unknown_.lost = found = true;
    unknown_.verifier = verifier;  // reports this loss once
  }
  return found && !before;
}

// Returns the first extent that ends after `at`.
Uncommitted::Extents::const_iterator Uncommitted::first_behind(uint64_t at) const {
  auto it = extents_.upper_bound(at);
  if (it != extents_.begin() && std::prev(it)->second.end > at) --it;
  return it;
}

// Splits the extent that includes both sides of `at`, if there is one.
void Uncommitted::split(uint64_t at) {
  auto it = extents_.lower_bound(at);
  if (it == extents_.begin()) return;
  --it;
  if (it->second.end <= at) return;
  FSR_CHECK(it->first < at, "an extent is split at its start");
  Extent rest = it->second;
  it->second.end = at;
  extents_.emplace_hint(std::next(it), at, std::move(rest));
}

// Removes [begin, end). Returns the extent after it.
Uncommitted::Extents::iterator Uncommitted::remove(uint64_t begin, uint64_t end) {
  if (extents_.empty()) return extents_.end();
  split(begin);
  split(end);
  return extents_.erase(extents_.lower_bound(begin), extents_.lower_bound(end));
}

// Joins an extent with the previous one if possible, so that a file that is written from front to back has one extent.
void Uncommitted::join_previous(Extents::iterator it) {
  if (it == extents_.begin()) return;
  auto previous = std::prev(it);
  Extent &a = previous->second, &b = it->second;
  if (a.end != it->first || a.lost || a.stamp || a.verifier != b.verifier || a.source.kept || a.source != b.source) return;
  a.end = b.end;
  a.newest = b.newest;
  extents_.erase(it);
}

// Adapts the budget to the number of extents. A split may exceed the budget slightly.
void Uncommitted::settle() {
  const size_t there = extents_.size();
  if (there < counted_) budget_.give((counted_ - there) * kExtentCost);
  if (there > counted_) budget_.draw((there - counted_) * kExtentCost);
  counted_ = there;
}

}  // namespace fsr::nfs
