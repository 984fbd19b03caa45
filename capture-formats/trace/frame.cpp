// SPDX-License-Identifier: Apache-2.0
#include "frame.hpp"

#include <xxhash.h>

namespace fsr {

constexpr std::string_view kMark = "fsrT";

static unsigned type_number(SectionType type) {
  switch (type) {
    case SectionType::header:
      return 0;
    case SectionType::block:
      return 1;
    case SectionType::index:
      return 2;
    case SectionType::closing:
      return 3;
  }
  return 16;
}

static uint64_t section_sum(uint8_t type, uint8_t version, std::string_view body) {
  return XXH64(body.data(), body.size(), uint64_t(type) << 8 | version);
}

void put_section(ByteWriter& out, SectionType type, std::string_view body, uint32_t version) {
  out.u32(kSkippableMagic + type_number(type));
  out.u32(uint32_t(body.size() + kSectionOverhead - 8));
  out.bytes(kMark);
  out.u8(uint8_t(type));
  out.u8(uint8_t(version));
  out.u8(0);
  out.u8(0);
  out.u64(section_sum(uint8_t(type), uint8_t(version), body));
  out.bytes(body);
}

std::string block_header_section(const BlockHeader& h) {
  ByteWriter body, out;
  body.u8(h.flags);
  for (int i = 0; i < 3; ++i) body.u8(0);
  body.u32(h.number);
  body.u64(h.first_seq);
  body.u32(h.ops);
  body.u32(h.ends);
  body.u64(uint64_t(h.first_start));
  body.u64(uint64_t(h.last_start));
  body.u32(h.raw_bytes);
  body.u32(h.compressed_bytes);
  body.u32(h.clock_unit);
  while (body.size() < kBlockHeaderBody) body.u8(0);
  put_section(out, SectionType::block, body.view());
  return std::string(out.view());
}

uint64_t section_length(std::string_view bytes) {
  if (bytes.size() < kSectionOverhead || bytes.substr(8, 4) != kMark) return 0;
  ByteReader r(bytes);
  uint32_t magic = r.u32(), size = r.u32();
  r.u32();
  unsigned number = type_number(SectionType(r.u8()));
  if (number > 15 || magic != kSkippableMagic + number || size < kSectionOverhead - 8 || size > kMaxSection) return 0;
  return uint64_t(size) + 8;
}

std::optional<Section> parse_section(std::string_view bytes) {
  uint64_t length = section_length(bytes);
  if (!length || length > bytes.size()) return std::nullopt;
  Section s{SectionType(bytes[12]), uint8_t(bytes[13]), bytes.substr(kSectionOverhead, length - kSectionOverhead)};
  uint64_t sum;
  memcpy(&sum, bytes.data() + 16, sizeof sum);
  if (sum != section_sum(uint8_t(s.type), s.version, s.body)) return std::nullopt;
  return s;
}

std::optional<BlockHeader> parse_block_header(std::string_view body) {
  if (body.size() < kBlockHeaderBody) return std::nullopt;
  ByteReader r(body);
  BlockHeader h;
  h.flags = r.u8();
  for (int i = 0; i < 3; ++i) r.u8();
  h.number = r.u32();
  h.first_seq = r.u64();
  h.ops = r.u32();
  h.ends = r.u32();
  h.first_start = int64_t(r.u64());
  h.last_start = int64_t(r.u64());
  h.raw_bytes = r.u32();
  h.compressed_bytes = r.u32();
  h.clock_unit = r.u32();
  if (h.raw_bytes > kMaxRecord || h.compressed_bytes > kMaxFrame) return std::nullopt;
  if (h.clock_unit == 0 || h.clock_unit > kMaxClockUnit || h.last_start < h.first_start) return std::nullopt;
  return h;
}

}  // namespace fsr
