// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/content/content.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace fsr::vdbench {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ull;  // fraction of the golden ratio, times 2^64

// Seed that differs from run to run, so that content of earlier runs is not drawn again.
uint64_t now() { return uint64_t(std::chrono::system_clock::now().time_since_epoch().count()); }

}  // namespace

uint64_t Content::unit_of(const ContentSettings& s) { return s.dedup > 0 ? s.unit : kPage; }

Content::Content(const ContentSettings& s, const std::string& owner, uint64_t size)
    : pattern_(s.pattern),
      random_share_(1 / s.compression),
      seed_(s.seed),
      unit_(unit_of(s)),
      owner_(XXH3_64bits(owner.data(), owner.size())),
      flips_(s.flips) {
  if (s.dedup <= 1) return;
  units_ = std::max<uint64_t>(1, size / unit_);
  const auto units = double(units_);
  const double sets = std::max(1.0, std::floor(s.sets_percent ? units * s.sets / 100 : s.sets));
  uint64_t hot_sets = 0, hot_units = 0;
  for (const auto& [count, blocks] : s.hot_sets) {
    hot_units += count * blocks;
    hot_.push_back({hot_units, hot_sets, count});
    hot_sets += count;
  }
  once_share_ = (units / s.dedup - sets) / std::max(1.0, units - double(hot_units));
  if (once_share_ < 0)
    throw_error("{}: {:.0f} sets in {:.0f} units of {} bytes, expected at most {:.0f} for dedupratio={:g}", owner, sets, units,
                unit_, std::floor(units / s.dedup), s.dedup);
  if (double(hot_sets) >= sets) throw_error("{}: {} hot sets, expected fewer than all {:.0f} sets", owner, hot_sets, sets);
  if (once_share_ > 1)
    throw_error("{}: {} units in hot sets leave too few others of {:.0f} for dedupratio={:g}", owner, hot_units, units, s.dedup);
  sets_ = uint64_t(sets) - hot_sets;
  if (flips_ != ContentSettings::Flips::none) flipped_ = std::make_unique<std::atomic<bool>[]>(units_);
}

// Returns the seed of a unit that is not in a set. With compressionseed=, it is the same in each run.
uint64_t Content::once_seed(uint64_t number, Random& once) const { return seed_ ? Random(seed_, number).next() : once.next(); }

uint64_t Content::seed_of(uint64_t number, bool begins, Random& once) const {
  if (sets_ == 0) return once_seed(number, once);
  const auto hot = std::find_if(hot_.begin(), hot_.end(), [&](const HotSets& h) { return number < h.end; });
  uint64_t set = 0;
  if (hot != hot_.end()) {
    set = hot->first_set + number % hot->sets;
  } else {
    if (double(number * kGoldenRatio) * 0x1p-64 < once_share_) return once_seed(number, once);
    const uint64_t hot_sets = hot_.empty() ? 0 : hot_.back().first_set + hot_.back().sets;
    set = hot_sets + Random(number, owner_).below(sets_);
  }
  bool other = false;
  if (number < units_ &&
      (flips_ == ContentSettings::Flips::all || (flips_ == ContentSettings::Flips::hot && hot != hot_.end()))) {
    other = flipped_[number];
    // The rest of a unit has the content that its beginning has got.
    if (begins)
      flipped_[number] = !other;
    else
      other = !other;
  }
  return owner_ + 2 * set + other;
}

void Content::fill(char* to, uint64_t from, uint64_t length, uint64_t seed) const {
  const uint64_t end = from + length;
  for (uint64_t page = from / kPage * kPage; page < end; page += kPage) {
    // The bytes of a page follow from its number, so that earlier pages need not be generated.
    Random random(seed, page / kPage + 1);
    const uint64_t size = std::min(kPage, unit_ - page);
    const uint64_t filled = page + uint64_t(std::lround(double(size) * random_share_));
    const uint64_t first = std::max(page, from), last = std::min(page + size, end);
    const uint64_t stop = std::min(filled, last);
    uint64_t at = page;
    for (; at + 8 <= first; at += 8) random.next();
    while (at < stop) {
      const uint64_t word = random.next();
      const uint64_t low = std::max(at, first), high = std::min(at + 8, stop);
      memcpy(to + (low - from), reinterpret_cast<const char*>(&word) + (low - at), high - low);
      at += 8;
      for (; at + 8 <= stop; at += 8) {  // all but the first and the last of them
        const uint64_t whole = random.next();
        memcpy(to + (at - from), &whole, sizeof whole);
      }
    }
    const uint64_t zeros = std::max(filled, first);
    if (zeros < last) memset(to + (zeros - from), 0, last - zeros);
  }
}

ContentWriter::ContentWriter(uint64_t number) : once_(now(), number) {}

char* ContentWriter::room(uint64_t length) {
  if (length > buffer_.size()) buffer_ = PageBuffer(length);
  return buffer_.data();
}

std::string_view ContentWriter::get(const Content& content, uint64_t offset, uint64_t length, uint64_t base) {
  char* const to = room(length);
  if (const std::string* pattern = content.pattern()) {
    for (uint64_t at = 0; at < length;) {
      const uint64_t from = (offset + at) % pattern->size(), n = std::min(pattern->size() - from, length - at);
      memcpy(to + at, pattern->data() + from, n);
      at += n;
    }
    return {to, length};
  }
  const uint64_t unit = content.unit();
  for (uint64_t at = 0; at < length;) {
    const uint64_t begin = (offset + at) % unit, n = std::min(unit - begin, length - at);
    content.fill(to + at, begin, n, content.seed_of((base + offset + at) / unit, begin == 0, once_));
    at += n;
  }
  return {to, length};
}

}  // namespace fsr::vdbench
