// SPDX-License-Identifier: Apache-2.0
#include "page/hdr_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "util/units.hpp"

namespace fsr {

namespace {

// Two significant digits give buckets 0.8 % wide, so that those of Histogram, up to 1.6 % wide, lose nothing.
constexpr int kDigits = 2, kSubBits = 8;  // 2^8 > 2 * 10^2
constexpr uint64_t kSubBuckets = 1 << kSubBits;
constexpr uint32_t kCookie = 0x1c849313, kCompressedCookie = 0x1c849314;
constexpr double kMs = 1e6;

size_t index_of(uint64_t value) {
  const int bucket = 64 - kSubBits - std::countl_zero(value | (kSubBuckets - 1));
  const uint64_t sub = value >> bucket;
  return size_t((uint64_t(bucket + 1) << (kSubBits - 1)) + sub - kSubBuckets / 2);
}

void put32(std::string& out, uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out += char(v >> shift);
}
void put64(std::string& out, uint64_t v) {
  put32(out, uint32_t(v >> 32));
  put32(out, uint32_t(v));
}
// Appends `v` with seven bits a byte; the ninth byte has eight. The sign is in the lowest bit.
void put_zigzag(std::string& out, int64_t v) {
  uint64_t u = (uint64_t(v) << 1) ^ uint64_t(v >> 63);
  for (int i = 0; i < 8 && u >= 0x80; ++i, u >>= 7) out += char(u | 0x80);
  out += char(u);
}

std::string payload(const Histogram& h) {
  std::vector<uint64_t> counts;
  h.each_bucket([&](int64_t, int64_t high, uint64_t n) {
    const size_t at = index_of(uint64_t(std::min(high, h.max())));
    if (at >= counts.size()) counts.resize(at + 1);
    counts[at] += n;
  });
  std::string out;
  for (size_t i = 0; i < counts.size();) {
    size_t zeros = 0;
    while (i + zeros < counts.size() && counts[i + zeros] == 0) ++zeros;
    put_zigzag(out, zeros ? -int64_t(zeros) : int64_t(counts[i]));
    i += std::max<size_t>(1, zeros);
  }
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < bytes.size() ? uint8_t(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? kLetters[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace

std::string hdr_encoded(const Histogram& h) {
  const std::string counts = payload(h);
  std::string plain;
  put32(plain, kCookie);
  put32(plain, uint32_t(counts.size()));
  put32(plain, 0);  // normalizing index offset
  put32(plain, kDigits);
  put64(plain, 1);  // lowest discernible value
  put64(plain, std::max<uint64_t>(2 * kSubBuckets, uint64_t(h.max())));
  put64(plain, std::bit_cast<uint64_t>(1.0));  // ratio of stored values to real ones
  plain += counts;
  uLongf length = compressBound(uLong(plain.size()));
  std::string deflated(length, '\0');
  if (compress(reinterpret_cast<Bytef*>(deflated.data()), &length, reinterpret_cast<const Bytef*>(plain.data()),
               uLong(plain.size())) != Z_OK)
    throw std::runtime_error("zlib: out of memory");
  std::string whole;
  put32(whole, kCompressedCookie);
  put32(whole, uint32_t(length));
  return base64(whole + deflated.substr(0, length));
}

std::string hlog_text(int64_t start_ns, const std::vector<std::string>& comments, const std::vector<HdrLine>& lines) {
  std::string out = "#[Histogram log format version 1.3]\n";
  for (const std::string& comment : comments) out += "#" + escape_text(comment) + "\n";
  const double start = double(start_ns) / 1e9;
  out += fmt::format("#[StartTime: {:.3f} (seconds since epoch), {:%a %b %d %H:%M:%S} UTC {:%Y}]\n", start,
                     fmt::gmtime(time_t(start)), fmt::gmtime(time_t(start)));
  out += "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
  for (const HdrLine& line : lines)
    out += fmt::format("Tag={},{:.3f},{:.3f},{:.3f},{}\n", line.tag, line.from, line.length, double(line.histogram.max()) / kMs,
                       hdr_encoded(line.histogram));
  return out;
}

// Returns a table of percentiles that approach 100 %: five steps for each halving of the distance to 100 %.
std::string hgrm_text(const Histogram& h) {
  constexpr int kTicks = 5;
  std::string out = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
  double deviation = 0;
  h.each_bucket([&](int64_t low, int64_t high, uint64_t n) {
    const double away = (double(low) + double(high)) / 2 - h.mean();
    deviation += away * away * double(n);
  });
  double share = 0;
  uint64_t seen = 0, before = 0;
  auto until = [&](int64_t value) {
    uint64_t n = 0;
    h.each_bucket([&](int64_t, int64_t high, uint64_t count) { n += std::min(high, h.max()) <= value ? count : 0; });
    return n;
  };
  while (h.count() && seen < h.count()) {
    const int64_t value = h.quantile(share);
    seen = until(value);
    if (seen != before && seen < h.count())
      out += fmt::format("{:12.3f} {:.12f} {:10} {:14.2f}\n", double(value) / kMs, share, seen, 1 / (1 - share));
    before = seen;
    const double halvings = std::floor(std::log2(1 / (1 - share))) + 1;
    share += 1 / (kTicks * std::pow(2, halvings));
  }
  if (h.count()) out += fmt::format("{:12.3f} {:.12f} {:10}\n", double(h.max()) / kMs, 1.0, h.count());
  const double spread = h.count() ? std::sqrt(deviation / double(h.count())) : 0;
  out += fmt::format("#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n", h.mean() / kMs, spread / kMs);
  out += fmt::format("#[Max     = {:12.3f}, Total count    = {:12}]\n", double(h.max()) / kMs, h.count());
  return out + fmt::format("#[Buckets = {:12}, SubBuckets     = {:12}]\n", 64 - kSubBits, kSubBuckets);
}

}  // namespace fsr
