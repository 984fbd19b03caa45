// SPDX-License-Identifier: Apache-2.0
#include "fingerprint.hpp"

#include <sys/random.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace fsr {

namespace {

constexpr uint64_t kSampleMask = 15;  // one block in sixteen
constexpr size_t kLeastSample = 512;  // bytes; less says more about zstd's headers than about the data
constexpr uint8_t kSampled = 0xfe, kUnknown = 0xff;
constexpr size_t kSlots = 1 << 15;

// zstd as its documentation (RFC 8878, zstd.h) describes level 1: the fastest, and what file systems that compress offer first.
constexpr int kLevel = 1;

bool all_zero(const char* data, size_t bytes) { return data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0; }

// SipHash-2-4 (Aumasson and Bernstein, 2012) of 16 bytes.
uint64_t siphash(const FingerprintKey& key, uint64_t first, uint64_t second) {
  uint64_t a = key[0] ^ 0x736f6d6570736575, b = key[1] ^ 0x646f72616e646f6d, c = key[0] ^ 0x6c7967656e657261,
           d = key[1] ^ 0x7465646279746573;
  auto rounds = [&](int count) {
    for (; count > 0; --count) {
      a += b, c += d;
      b = std::rotl(b, 13) ^ a, d = std::rotl(d, 16) ^ c;
      a = std::rotl(a, 32);
      c += b, a += d;
      b = std::rotl(b, 17) ^ c, d = std::rotl(d, 21) ^ a;
      c = std::rotl(c, 32);
    }
  };
  constexpr uint64_t kLength = uint64_t(16) << 56;
  for (const uint64_t word : {first, second, kLength}) {
    d ^= word;
    rounds(2);
    a ^= word;
  }
  c ^= 0xff;
  rounds(4);
  return a ^ b ^ c ^ d;
}

}  // namespace

FingerprintKey random_fingerprint_key() {
  FingerprintKey key;
  if (getrandom(key.data(), sizeof key, 0) != ssize_t(sizeof key))
    throw std::system_error(errno, std::generic_category(), "can't get random numbers");
  return key;
}

const char* content_name(Content content) {
  return content == Content::full ? "full" : content == Content::fingerprint ? "fingerprint" : "none";
}

void Fingerprinter::take(Op& op, const char* data, size_t bytes) {
  blocks_.clear();
  samples_.clear();
  uint64_t at = op.offset;
  while (bytes > 0) {
    const size_t n = std::min<size_t>(bytes, kPrintBlock - at % kPrintBlock);
    BlockPrint& print = blocks_.emplace_back();
    if (!all_zero(data, n)) {
      const XXH128_hash_t hash = XXH3_128bits(data, n);
      print.hash = siphash(key_, hash.low64, hash.high64);
      print.level = kUnknown;
      // A file's first block says most about the others.
      if (n >= kLeastSample && (at == 0 || (print.hash & kSampleMask) == 0)) {
        print.level = kSampled;
        samples_.append(data, n);
      }
    }
    at += n;
    data += n;
    bytes -= n;
  }
  op.blocks = blocks_;
  op.data = samples_;
}

CompressionMeter::CompressionMeter() : zstd_(ZSTD_createCCtx()), by_hash_(kSlots), by_object_(kSlots) {
  out_.resize(ZSTD_compressBound(kPrintBlock));
}

CompressionMeter::~CompressionMeter() { ZSTD_freeCCtx(zstd_); }

uint8_t CompressionMeter::measure(std::string_view sample) {
  const size_t size = ZSTD_compressCCtx(zstd_, out_.data(), out_.size(), sample.data(), sample.size(), kLevel);
  if (ZSTD_isError(size)) return 8;
  return uint8_t(std::clamp<size_t>((size * 8 + sample.size() - 1) / sample.size(), 1, 8));
}

CompressionMeter::Known& CompressionMeter::slot(std::vector<Known>& table, uint64_t key) {
  return table[(key * 0x9e3779b97f4a7c15ull >> 32) % table.size()];
}

std::span<const BlockPrint> CompressionMeter::levels(std::span<const BlockPrint> blocks, std::string_view samples,
                                                     ObjectId object, uint64_t offset, uint64_t bytes) {
  blocks_.assign(blocks.begin(), blocks.end());
  Known& of_object = slot(by_object_, object);
  uint64_t at = offset, left = bytes;
  for (BlockPrint& print : blocks_) {
    const size_t n = size_t(std::min(left, kPrintBlock - at % kPrintBlock));
    at += n;
    left -= n;
    if (print.level == 0) continue;
    Known& known = slot(by_hash_, print.hash);
    const bool is_known = known.key == print.hash && known.level != 0;
    if (print.level == kSampled) {
      const std::string_view sample = samples.substr(0, n);
      samples.remove_prefix(sample.size());
      print.level = last_ = is_known ? known.level : measure(sample);
      of_object = {object, last_};
    } else if (is_known) {
      print.level = known.level;
    } else {
      print.level = of_object.key == object && of_object.level != 0 ? of_object.level : last_;
    }
    known = {print.hash, print.level};
  }
  return blocks_;
}

}  // namespace fsr
