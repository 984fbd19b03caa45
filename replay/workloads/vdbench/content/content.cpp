// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/content/content.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <stdexcept>

namespace fsr::vdbench {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ull;  // its fraction, times 2^64

// Numbers that were drawn in earlier runs are not drawn again.
uint64_t now() { return uint64_t(std::chrono::system_clock::now().time_since_epoch().count()); }

}  // namespace

Content::Content(const ContentSettings& s, const std::string& owner, uint64_t size)
    : pattern_(s.pattern),
      random_share_(1 / s.compression),
      unit_(s.dedup > 0 ? s.unit : kPage),
      owner_(XXH3_64bits(owner.data(), owner.size())) {
  if (s.dedup <= 1) return;
  const double units = std::max(1.0, double(size / unit_));
  const double sets = std::max(1.0, std::floor(s.sets_percent ? units * s.sets / 100 : s.sets));
  once_share_ = 1 / s.dedup - sets / units;
  sets_ = uint64_t(sets);
  if (once_share_ < 0)
    throw std::runtime_error(
        fmt::format("{}: {:.0f} sets in {:.0f} units of {} bytes, expected at most {:.0f} for dedupratio={:g}", owner, sets,
                    units, unit_, std::floor(units / s.dedup), s.dedup));
}

uint64_t Content::seed_of(uint64_t number, Random& once) const {
  if (sets_ == 0 || double(number * kGoldenRatio) * 0x1p-64 < once_share_) return once.next();
  return owner_ + Random(number, owner_).below(sets_);
}

void Content::fill(char* to, uint64_t seed) const {
  Random random(seed, 1);
  for (uint64_t at = 0; at < unit_; at += kPage) {
    const uint64_t page = std::min(kPage, unit_ - at);
    const auto filled = uint64_t(std::lround(double(page) * random_share_));
    for (uint64_t i = 0; i < filled; i += 8) {
      const uint64_t word = random.next();
      memcpy(to + at + i, &word, std::min<uint64_t>(8, filled - i));
    }
    memset(to + at + filled, 0, page - filled);
  }
}

ContentWriter::ContentWriter(uint64_t number) : once_(now(), number) {}

char* ContentWriter::room(uint64_t length) {
  if (length > size_) {
    size_ = (length + kPage - 1) / kPage * kPage;
    buffer_.reset(static_cast<char*>(aligned_alloc(kPage, size_)));
    if (!buffer_) throw std::bad_alloc();
  }
  return buffer_.get();
}

std::string_view ContentWriter::get(const Content& content, uint64_t offset, uint64_t length, uint64_t place) {
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
    const uint64_t seed = content.seed_of((place + offset + at) / unit, once_);
    if (n == unit) {
      content.fill(to + at, seed);
    } else {
      part_.resize(unit);
      content.fill(part_.data(), seed);
      memcpy(to + at, part_.data() + begin, n);
    }
    at += n;
  }
  return {to, length};
}

}  // namespace fsr::vdbench
