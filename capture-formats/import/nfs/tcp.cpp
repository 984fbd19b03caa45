// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "pcap.hpp"

namespace fsr::capture {

namespace {

constexpr size_t kMostWaiting = 4 << 20;  // bytes behind a gap, after which it is taken for lost
constexpr size_t kMostFlows = 65536;

unsigned byte(std::string_view bytes, size_t at) { return uint8_t(bytes[at]); }
uint16_t net16(std::string_view bytes, size_t at) { return uint16_t(byte(bytes, at) << 8 | byte(bytes, at + 1)); }
uint32_t net32(std::string_view bytes, size_t at) { return uint32_t(net16(bytes, at)) << 16 | net16(bytes, at + 2); }

// Bytes of the link layer's header in front of IP; SIZE_MAX: no IP, or a link layer that is not supported.
size_t link_header(uint32_t link, std::string_view data) {
  constexpr uint16_t kIp4 = 0x0800, kIp6 = 0x86dd, kVlan = 0x8100, kVlans = 0x88a8;
  auto is_ip = [&](size_t at) { return at + 2 <= data.size() && (net16(data, at) == kIp4 || net16(data, at) == kIp6); };
  switch (link) {
    case 0:    // NULL: the BSDs' loopback
    case 108:  // LOOP
      return 4;
    case 1: {  // Ethernet
      size_t at = 12;
      while (at + 6 <= data.size() && (net16(data, at) == kVlan || net16(data, at) == kVlans)) at += 4;
      return is_ip(at) ? at + 2 : SIZE_MAX;
    }
    case 12:
    case 14:
    case 101:  // raw IP
    case 228:
    case 229:
      return 0;
    case 113:  // Linux "any"
      return is_ip(14) ? 16 : SIZE_MAX;
    case 276:  // Linux "any", version 2
      return is_ip(0) ? 20 : SIZE_MAX;
    default:
      return SIZE_MAX;
  }
}

}  // namespace

void TcpStreams::packet(const Packet& packet) {
  const size_t header = link_header(packet.link, packet.data);
  if (header == SIZE_MAX || header >= packet.data.size())
    return sink_.note(ImportNotes::ignored, "packets of other protocols than IP", 1);
  ip(packet, packet.data.substr(header));
}

void TcpStreams::ip(const Packet& packet, std::string_view bytes) {
  constexpr unsigned kFragment6 = 44;  // a header of IPv6 between the fixed one and what is in the packet
  constexpr size_t kFragment6Size = 8;
  const unsigned version = byte(bytes, 0) >> 4;
  size_t header, total;
  Fragments::Piece piece;
  if (version == 4 && bytes.size() >= 20) {
    header = (byte(bytes, 0) & 15) * 4;
    total = net16(bytes, 2);
    piece.id = net16(bytes, 4);
    piece.more = (byte(bytes, 6) & 0x20) != 0;
    piece.offset = size_t(net16(bytes, 6) & 0x1fff) * 8;
    piece.protocol = byte(bytes, 9);
    piece.addresses = {std::string(bytes.substr(12, 4)), std::string(bytes.substr(16, 4))};
  } else if (version == 6 && bytes.size() >= 40) {
    header = 40;
    total = net16(bytes, 4) ? 40 + net16(bytes, 4) : 0;
    piece.protocol = byte(bytes, 6);
    piece.addresses = {std::string(bytes.substr(8, 16)), std::string(bytes.substr(24, 16))};
    if (piece.protocol == kFragment6 && bytes.size() >= header + kFragment6Size) {
      piece.protocol = byte(bytes, header);
      piece.more = (byte(bytes, header + 3) & 1) != 0;
      piece.offset = net16(bytes, header + 2) & 0xfff8;
      piece.id = net32(bytes, header + 4);
      header += kFragment6Size;
    }
  } else {
    return sink_.note(ImportNotes::ignored, "packets of other protocols than IP", 1);
  }
  if (total == 0) total = bytes.size();  // segmented by the network card
  if (header < 20 || total < header || bytes.size() < header)
    return sink_.note(ImportNotes::ignored, "IP packets of other protocols than TCP and UDP", 1);
  const size_t captured = std::min(bytes.size(), total), missing = total - captured;
  piece.bytes = bytes.substr(header, captured - header);
  if (!piece.more && piece.offset == 0) return inner(piece.addresses, piece.protocol, packet.time, piece.bytes, missing);
  if (missing) return sink_.note(ImportNotes::lost, "packets that were not captured completely (snaplen)", 1);
  if (fragments_.add(piece, &whole_)) inner(piece.addresses, piece.protocol, packet.time, whole_, 0);
}

void TcpStreams::inner(const FlowKey& addresses, unsigned protocol, int64_t time, std::string_view bytes, size_t missing) {
  constexpr unsigned kTcp = 6, kUdp = 17;
  if (protocol == kUdp)
    udp(addresses, time, bytes);
  else if (protocol == kTcp)
    tcp(addresses, time, bytes, missing);
  else
    sink_.note(ImportNotes::ignored, "IP packets of other protocols than TCP and UDP", 1);
}

void TcpStreams::udp(const FlowKey& addresses, int64_t time, std::string_view bytes) {
  constexpr size_t kHeader = 8;
  const size_t size = bytes.size() < kHeader ? 0 : net16(bytes, 4);
  if (size < kHeader) return sink_.note(ImportNotes::lost, "damaged packets", 1);
  if (size > bytes.size()) return sink_.note(ImportNotes::lost, "packets that were not captured completely (snaplen)", 1);
  const FlowKey key{addresses.from + std::string(bytes.substr(0, 2)), addresses.to + std::string(bytes.substr(2, 2))};
  datagram_(key, time, bytes.substr(kHeader, size - kHeader));
}

void TcpStreams::tcp(const FlowKey& addresses, int64_t time, std::string_view bytes, size_t missing) {
  if (bytes.size() < 20) return sink_.note(ImportNotes::lost, "damaged packets", 1);
  const size_t header = (byte(bytes, 12) >> 4) * 4;
  const unsigned flags = byte(bytes, 13);
  constexpr unsigned kSyn = 2, kAck = 16;
  if (header < 20 || header > bytes.size()) return sink_.note(ImportNotes::lost, "damaged packets", 1);
  const FlowKey key{addresses.from + std::string(bytes.substr(0, 2)), addresses.to + std::string(bytes.substr(2, 2))};
  if (flows_.size() >= kMostFlows && !flows_.contains(key)) return sink_.note(ImportNotes::lost, "connections beyond 65,536", 1);
  Flow& flow = flows_[key];
  const uint32_t seq = net32(bytes, 4);
  if (flags & kSyn) {
    if (flow.known && flow.at == 0 && flow.next == seq + 1) return;  // sent again
    // A client may connect again from the same port. The messages of the former connection end with it.
    while (!flow.waiting.empty()) skip_gap(key, flow);
    const bool again = flow.known;
    flow = {};
    flow.known = true;
    flow.gap = again;
    flow.next = seq + 1;
    return;
  }
  if (missing) sink_.note(ImportNotes::lost, "packets that were not captured completely (snaplen)", 1);
  segment(key, flow, time, seq, bytes.substr(header));
  const auto back = flows_.find(key.reverse());
  if (!(flags & kAck) || back == flows_.end()) return;
  back->second.has_ack = true;
  back->second.acked = net32(bytes, 8);
  skip_acked(back->first, back->second);
}

// Skips bytes that the receiver has acknowledged and that were not captured: they will not be sent again.
void TcpStreams::skip_acked(const FlowKey& key, Flow& flow) {
  while (flow.has_ack && !flow.waiting.empty() &&
         int32_t(flow.acked - (flow.next + uint32_t(flow.waiting.begin()->first - flow.at))) >= 0)
    skip_gap(key, flow);
}

void TcpStreams::segment(const FlowKey& key, Flow& flow, int64_t time, uint32_t seq, std::string_view bytes) {
  if (bytes.empty()) return;
  if (!flow.known) {
    flow.known = true;
    flow.next = seq;
  }
  // Sequence numbers wrap: the distance from the expected number distinguishes before and after.
  const int32_t ahead = int32_t(seq - flow.next);
  if (ahead < 0) {
    if (size_t(-int64_t(ahead)) >= bytes.size()) return;  // sent again
    bytes.remove_prefix(size_t(-int64_t(ahead)));
  }
  const uint64_t at = flow.at + uint64_t(std::max(ahead, 0));
  Segment& waiting = flow.waiting[at];
  if (waiting.bytes.size() >= bytes.size()) return;
  flow.waiting_bytes += bytes.size() - waiting.bytes.size();
  waiting = {time, std::string(bytes)};
  hand_out(key, flow);
  skip_acked(key, flow);
  while (flow.waiting_bytes > kMostWaiting) skip_gap(key, flow);
}

void TcpStreams::hand_out(const FlowKey& key, Flow& flow) {
  while (!flow.waiting.empty() && flow.waiting.begin()->first <= flow.at) {
    const uint64_t begin = flow.waiting.begin()->first;
    const Segment segment = std::move(flow.waiting.begin()->second);
    flow.waiting.erase(flow.waiting.begin());
    flow.waiting_bytes -= segment.bytes.size();
    if (begin + segment.bytes.size() <= flow.at) continue;
    const std::string_view fresh = std::string_view(segment.bytes).substr(flow.at - begin);
    flow.at += fresh.size();
    flow.next += uint32_t(fresh.size());
    bytes_(key, segment.time, fresh, std::exchange(flow.gap, false));
  }
}

void TcpStreams::skip_gap(const FlowKey& key, Flow& flow) {
  if (flow.waiting.empty()) return;
  const uint64_t lost = flow.waiting.begin()->first - flow.at;
  sink_.note(ImportNotes::lost, "bytes of TCP streams in packets that were not captured", lost);
  flow.at += lost;
  flow.next += uint32_t(lost);
  flow.gap = true;
  hand_out(key, flow);
}

void TcpStreams::finish() {
  for (auto& [key, flow] : flows_)
    while (!flow.waiting.empty()) skip_gap(key, flow);
  fragments_.finish();
}

}  // namespace fsr::capture
