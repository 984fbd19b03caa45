// SPDX-License-Identifier: Apache-2.0
#include "pcap.hpp"

#include <algorithm>
#include <cstring>

namespace fsr::capture {

namespace {

constexpr uint32_t kMicro = 0xa1b2c3d4, kNano = 0xa1b23c4d, kSection = 0x0a0d0d0a, kByteOrder = 0x1a2b3c4d;
constexpr uint32_t kInterface = 1, kSimplePacket = 3, kEnhancedPacket = 6;
constexpr uint32_t kLongestPacket = 1 << 20, kLongestBlock = 16 << 20;
constexpr size_t kMostInterfaces = 65536;

uint32_t native32(std::string_view bytes, size_t at) {
  uint32_t v = 0;
  if (at + 4 <= bytes.size()) memcpy(&v, bytes.data() + at, 4);
  return v;
}

}  // namespace

bool looks_like_pcap(std::string_view head) {
  const uint32_t magic = native32(head, 0), swapped = __builtin_bswap32(magic);
  return head.size() >= 24 && (magic == kMicro || magic == kNano || magic == kSection || swapped == kMicro || swapped == kNano);
}

uint32_t PacketReader::u32(std::string_view bytes, size_t at) const {
  const uint32_t v = native32(bytes, at);
  return swapped_ ? __builtin_bswap32(v) : v;
}
uint16_t PacketReader::u16(std::string_view bytes, size_t at) const {
  uint16_t v = 0;
  if (at + 2 <= bytes.size()) memcpy(&v, bytes.data() + at, 2);
  return swapped_ ? __builtin_bswap16(v) : v;
}

PacketReader::PacketReader(ImportInput& input, ImportSink& sink) : input_(input), sink_(sink) {
  const std::string_view head = input.head();
  if (!looks_like_pcap(head)) throw ImportError(input.place() + ": expected a capture file, pcap or pcapng");
  const uint32_t magic = native32(head, 0);
  ng_ = magic == kSection;
  if (ng_) return;
  swapped_ = magic != kMicro && magic != kNano;
  units_ = (swapped_ ? __builtin_bswap32(magic) : magic) == kNano ? 1'000'000'000 : 1'000'000;
  std::string_view header;
  read(24, &header);
  link_ = u32(header, 20) & 0xffff;
}

bool PacketReader::read(size_t size, std::string_view* out) {
  if (input_.bytes(size, out)) return true;
  sink_.note(ImportNotes::lost, "the capture file is truncated");
  return false;
}

bool PacketReader::stop(const char* expected) {
  if (!any_) throw ImportError(input_.place() + ": expected " + expected);
  sink_.note(ImportNotes::lost, "the capture file is damaged: bytes after the damage");
  return false;
}

bool PacketReader::next(Packet* out) {
  if (!(ng_ ? next_block(out) : next_pcap(out))) return false;
  any_ = true;
  return true;
}

bool PacketReader::next_pcap(Packet* out) {
  std::string_view header;
  if (!input_.bytes(16, &header)) {
    if (input_.bytes(1, &header)) sink_.note(ImportNotes::lost, "the capture file is truncated");
    return false;
  }
  const uint64_t seconds = u32(header, 0), fraction = u32(header, 4);
  const uint32_t size = u32(header, 8);
  if (size > kLongestPacket || fraction >= units_) return stop("a packet's header");
  out->time = int64_t(seconds * 1'000'000'000 + fraction * (1'000'000'000 / units_));
  out->link = link_;
  return read(size, &out->data);
}

void PacketReader::describe_interface(std::string_view body) {
  Interface i{.link = u16(body, 0)};
  for (size_t at = 8; at + 4 <= body.size();) {
    const uint16_t code = u16(body, at), length = u16(body, at + 2);
    constexpr uint16_t kEnd = 0, kResolution = 9;
    if (code == kEnd) break;
    if (code == kResolution && length >= 1 && at + 4 < body.size()) {
      const uint8_t r = uint8_t(body[at + 4]);
      i.units = 1;
      if (r & 0x80)
        i.units <<= std::min(r & 0x7f, 62);
      else
        for (int n = 0; n < std::min<int>(r, 18); ++n) i.units *= 10;
    }
    at += 4 + (length + 3u) / 4 * 4;
  }
  if (interfaces_.size() < kMostInterfaces) interfaces_.push_back(i);
}

bool PacketReader::next_block(Packet* out) {
  std::string_view head, body;
  while (input_.bytes(8, &head)) {
    const uint32_t type = u32(head, 0);
    uint32_t length = u32(head, 4);
    char length_bytes[4];
    memcpy(length_bytes, head.data() + 4, 4);
    if (native32(head, 0) == kSection) {
      if (!read(4, &body)) return false;
      swapped_ = native32(body, 0) != kByteOrder;
      std::string_view rest;
      length = u32(std::string_view(length_bytes, 4), 0);
      if (length < 28 || length > kLongestBlock) return stop("a block of pcapng");
      interfaces_.clear();
      if (!read(length - 12, &rest)) return false;
      continue;
    }
    if (length < 12 || length > kLongestBlock || length % 4) return stop("a block of pcapng");
    if (!read(length - 8, &body)) return false;
    body.remove_suffix(4);  // the length once more
    if (type == kInterface) describe_interface(body);
    if (type == kSimplePacket) sink_.note(ImportNotes::lost, "packets without a time");
    if (type != kEnhancedPacket) continue;
    const uint32_t interface = u32(body, 0), size = u32(body, 12);
    if (body.size() < 20 || size > body.size() - 20 || interface >= interfaces_.size()) {
      sink_.note(ImportNotes::lost, "damaged packets");
      continue;
    }
    const Interface& i = interfaces_[interface];
    const uint64_t stamp = uint64_t(u32(body, 4)) << 32 | u32(body, 8);
    const uint64_t seconds = std::min<uint64_t>(stamp / i.units, INT64_MAX / 2'000'000'000);
    constexpr uint64_t kNs = 1'000'000'000;
    const uint64_t part = stamp % i.units, fraction = i.units <= kNs ? part * kNs / i.units : part / (i.units / kNs);
    out->time = int64_t(seconds * 1'000'000'000 + fraction);
    out->link = i.link;
    out->data = body.substr(20, size);
    return true;
  }
  if (input_.bytes(1, &head)) sink_.note(ImportNotes::lost, "the capture file is truncated");
  return false;
}

}  // namespace fsr::capture
