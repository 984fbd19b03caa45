// SPDX-License-Identifier: Apache-2.0
#include "index.hpp"

namespace fsr {

IndexEntry index_entry(const BlockHeader& h, uint64_t offset) {
  return {.offset = offset,
          .bytes = uint32_t(kBlockHeaderSize + h.compressed_bytes),
          .number = h.number,
          .first_seq = h.first_seq,
          .first_start = h.first_start,
          .last_start = h.last_start,
          .ops = h.ops,
          .ends = h.ends,
          .flags = h.flags};
}

std::string encode_index(const std::vector<IndexEntry>& entries) {
  ByteWriter out;
  out.varint(entries.size());
  uint64_t offset = 0, seq = 0;
  int64_t start = 0;
  for (const IndexEntry& e : entries) {
    out.varint(e.offset - offset);
    out.varint(e.bytes);
    out.u8(e.flags);
    out.svarint(int64_t(e.first_seq - seq));
    out.varint(e.ops);
    out.varint(e.ends);
    out.svarint(e.first_start - start);
    out.varint(uint64_t(e.last_start - e.first_start));
    offset = e.offset + e.bytes;
    seq = e.first_seq + e.ops;
    start = e.first_start;
  }
  return std::string(out.view());
}

std::optional<std::vector<IndexEntry>> decode_index(std::string_view body, uint64_t file_size) {
  ByteReader in(body);
  uint64_t count = in.varint();
  if (count > body.size() / 8) return std::nullopt;
  std::vector<IndexEntry> entries;
  entries.reserve(count);
  uint64_t offset = 0, seq = 0;
  int64_t start = 0;
  for (uint64_t i = 0; i < count; ++i) {
    IndexEntry e;
    e.number = uint32_t(i);
    e.offset = offset + in.varint();
    uint64_t bytes = in.varint();
    e.flags = in.u8();
    e.first_seq = seq + uint64_t(in.svarint());
    uint64_t ops = in.varint(), ends = in.varint();
    uint64_t span = 0;
    if (__builtin_add_overflow(start, in.svarint(), &e.first_start)) return std::nullopt;
    span = in.varint();
    if (span > uint64_t(INT64_MAX) || __builtin_add_overflow(e.first_start, int64_t(span), &e.last_start)) return std::nullopt;
    if (!in.ok() || e.offset < offset || e.offset > file_size || bytes < kBlockHeaderSize || bytes > file_size - e.offset ||
        bytes > kBlockHeaderSize + kMaxFrame || e.first_seq < seq || ops > UINT32_MAX || ends > UINT32_MAX ||
        e.first_seq + ops < e.first_seq)
      return std::nullopt;
    e.bytes = uint32_t(bytes);
    e.ops = uint32_t(ops);
    e.ends = uint32_t(ends);
    offset = e.offset + bytes;
    seq = e.first_seq + ops;
    start = e.first_start;
    entries.push_back(e);
  }
  return entries;
}

}  // namespace fsr
