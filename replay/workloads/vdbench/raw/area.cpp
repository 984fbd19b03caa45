// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/raw/area.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fsr::vdbench {

namespace {

constexpr uint64_t kBlock = 512;

// Returns the number of which random offsets in an area are multiples; 0: the length of each transfer.
uint64_t block_align(const RawWork& work, const Storage& storage) {
  return std::max(storage.align, work.workload.transfers.align);
}

// Probability of the first bytes of a hot band, at 0, 16 MB, 32 MB, 64 MB and so on, from vdbench's table.
constexpr double kHot[] = {0,       .087217, .10101,  .132206, .159946, .201713, .262602, .32645,  .366902, .386175,
                           .436941, .482631, .523752, .56076,  .594068, .624045, .651024, .675305, .697159, .716827,
                           .734528, .750459, .764797, .777701, .789314, .799767, .809174, .81764,  1};
constexpr double kHotUnit = 16e6;

double hot_bytes_at(size_t i) {
  return i == 0                     ? 0
         : i + 1 == std::size(kHot) ? kHotUnit * std::pow(2, double(i) - 2) * 10
                                    : kHotUnit * std::pow(2, double(i) - 1);
}

double hot_share(double bytes) {
  for (size_t i = 1; i < std::size(kHot); ++i)
    if (bytes <= hot_bytes_at(i)) {
      const double from = hot_bytes_at(i - 1);
      return kHot[i - 1] + (kHot[i] - kHot[i - 1]) * (bytes - from) / (hot_bytes_at(i) - from);
    }
  return 1;
}

double hot_offset(double share) {
  for (size_t i = 1; i < std::size(kHot); ++i)
    if (share <= kHot[i]) {
      const double from = hot_bytes_at(i - 1);
      return from + (hot_bytes_at(i) - from) * (share - kHot[i - 1]) / (kHot[i] - kHot[i - 1]);
    }
  return hot_bytes_at(std::size(kHot) - 1);
}

}  // namespace

uint64_t Area::real(uint64_t at, uint64_t length) const { return at + length <= end ? at : std::max(at, end) - end + begin; }

Areas::Areas(const RawWork& work, const Storage& storage, uint64_t size, bool spares) {
  const Workload& w = work.workload;
  const uint64_t largest = w.transfers.largest(), align = block_align(work, storage), unit = align ? align : largest;
  const uint64_t first = spares ? (largest + unit - 1) / unit * unit : 0;  // lowest offset
  const bool has_hits = w.read_hits > 0 || w.write_hits > 0;
  const uint64_t hit_area = has_hits ? storage.hit_area : 0;
  const Share& range = w.range.given() ? w.range : w.hot_band.given() ? w.hot_band : storage.range;
  auto at = [&](double n) { return n > 200 ? uint64_t(n) : uint64_t(double(size) * n / 100); };
  auto aligned = [&](uint64_t n) { return n < largest ? first : n / largest * largest; };
  const bool wraps = range.to > 100 && range.to <= 200;
  const uint64_t low = at(range.from), high = !range.given() ? size : wraps ? at(range.to) : std::min(at(range.to), size);
  misses = {aligned(low + hit_area), work.is_format ? high : aligned(high)};
  misses.high -= std::min(misses.high, storage.offset);
  if (wraps) {
    misses.high -= std::min(misses.high, first);
    misses.begin = first;
    misses.end = aligned(size - std::min(size, storage.offset));
  }
  if (hit_area) hits = {aligned(low), aligned(std::min(low + hit_area, high))};
  if (work.is_format) return;
  if (w.hot_band.given() && !w.range.given() && misses.high < misses.low + (1 << 20))
    throw_error("sd={}, wd={}: hotband= has less than 1m of the {} bytes, expected 1m or more", storage.name, w.name, size);
  if (has_hits && hits.width() < largest)
    throw_error("sd={}, wd={}: hitarea={} is too small for xfersize={}", storage.name, w.name, size_text(double(hit_area)),
                size_text(double(largest)));
  if (misses.low + 4 * largest > misses.high)
    throw_error("sd={}, wd={}: the area of {} bytes is too small, expected four times xfersize={} or more", storage.name, w.name,
                misses.high < misses.low ? 0 : misses.width(), size_text(double(largest)));
  if (w.streams && misses.width() / w.streams < 2 * largest)
    throw_error("sd={}, wd={}: the area of {} bytes is too small for streams={} of xfersize={}", storage.name, w.name,
                misses.width(), w.streams, size_text(double(largest)));
}

Chooser::Chooser(const RawWork& work, const Storage& storage, const Areas& areas, Cursors& cursors, unsigned thread,
                 uint64_t seed)
    : work_(work),
      areas_(areas),
      cursors_(cursors),
      stream_(thread % cursors.next.size()),
      align_(block_align(work, storage)),
      shift_(storage.offset),
      random_(seed, thread + 1) {
  last_end_ = random_in(areas.misses, std::min(work.workload.transfers.largest(), areas.misses.width()));
}

uint64_t Chooser::hot(uint64_t blocks) {
  const auto bytes = double(areas_.misses.width());
  const double offset = hot_offset(random_.unit() * hot_share(bytes));
  return std::min(uint64_t(offset / bytes * double(blocks)), blocks - 1);
}

uint64_t Chooser::random_in(const Area& area, uint64_t length) {
  const uint64_t unit = align_ ? align_ : length;
  const uint64_t blocks = (area.width() - length) / unit + 1;
  const Workload& w = work_.workload;
  uint64_t block = random_.below(blocks);
  if (w.seek == Seek::poisson)
    block = uint64_t(std::fmod(std::floor(random_.exponential(double(blocks) / w.midpoint)), double(blocks)));
  else if (w.hot_band.given())
    block = hot(blocks);
  return area.low + block * unit;
}

std::optional<Chooser::Next> Chooser::next() {
  const Workload& w = work_.workload;
  Next next{0, w.transfers.draw(random_), w.read_percent == 100 || random_.unit() * 100 < w.read_percent};
  const double hits = next.reads ? w.read_hits : w.write_hits;
  const Area& all = areas_.misses;
  if (hits > 0 && random_.unit() * 100 < hits) {
    next.offset = random_in(areas_.hits, next.length) + shift_;
    return next;
  }
  if (w.seek == Seek::random || w.seek == Seek::poisson) {
    const bool jumps = w.seek == Seek::poisson || w.seek_percent >= 100 || random_.unit() * 100 < w.seek_percent;
    uint64_t at = last_end_;
    if (jumps && w.stride) {
      const uint64_t least = uint64_t(w.stride->first), span = uint64_t(w.stride->second) - least;
      at = last_end_ + least / kBlock * kBlock + random_.below(span / next.length + 1) * next.length;
    } else if (jumps) {
      at = random_in(all, next.length);
    }
    if (at + next.length > all.high) at = all.low;
    last_end_ = at + next.length;
    next.offset = all.real(at, next.length) + shift_;
    return next;
  }
  // Take the next offset, together with the other threads of the work or stream. Each stream has its part.
  const uint64_t streams = cursors_.next.size();
  const uint64_t width = streams == 1 ? all.width() : all.width() / streams / next.length * next.length;
  const uint64_t whole = width / next.length * next.length, low = all.low + stream_ * width;
  uint64_t at = cursors_.next[stream_].fetch_add(next.length, std::memory_order_relaxed);
  if (w.seek == Seek::once && at >= width) {
    cursors_.ended = true;
    return {};
  }
  if (w.seek == Seek::once)
    next.length = std::min(next.length, width - at);
  else
    at = w.transfers.only() ? at % whole : at % (width - next.length) / kBlock * kBlock;
  next.offset = all.real(low + at, next.length) + shift_;
  return next;
}

}  // namespace fsr::vdbench
