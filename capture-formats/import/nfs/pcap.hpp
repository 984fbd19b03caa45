// SPDX-License-Identifier: Apache-2.0
// Packets of a capture file: pcap (both byte orders, us and ns) and pcapng (draft-ietf-opsawg-pcapng), and the TCP streams in
// them. Foreign bytes: every length is checked. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flow.hpp"
#include "fragments.hpp"
#include "import/import.hpp"

namespace fsr::capture {

struct Packet {
  int64_t time = 0;       // ns since the Unix epoch
  uint32_t link = 0;      // LINKTYPE_*
  std::string_view data;  // as much as was captured
};

class PacketReader {
 public:
  // Throws ImportError if the input is no capture file.
  PacketReader(ImportInput& input, ImportSink& sink);
  bool next(Packet* out);  // valid until the next call

 private:
  struct Interface {
    uint32_t link = 0;
    uint64_t units = 1'000'000;  // per second
  };
  bool next_pcap(Packet* out);
  bool next_block(Packet* out);
  void describe_interface(std::string_view body);
  bool read(size_t size, std::string_view* out);
  bool stop(const char* expected);  // returns false; throws if nothing was read before
  uint32_t u32(std::string_view bytes, size_t at) const;
  uint16_t u16(std::string_view bytes, size_t at) const;

  ImportInput& input_;
  ImportSink& sink_;
  bool ng_ = false, swapped_ = false, any_ = false;
  uint32_t link_ = 0;
  uint64_t units_ = 1'000'000;
  std::vector<Interface> interfaces_;
};
bool looks_like_pcap(std::string_view head);

// Joins fragments of IP and orders segments of TCP; segments that never come become a gap. Passes on datagrams of UDP as they
// come.
class TcpStreams {
 public:
  // Receives bytes in order. `gap`: some before these were lost, or these are the first of the flow.
  using Bytes = std::function<void(const FlowKey& flow, int64_t time, std::string_view bytes, bool gap)>;
  using Datagram = std::function<void(const FlowKey& flow, int64_t time, std::string_view bytes)>;
  TcpStreams(ImportSink& sink, Bytes bytes, Datagram datagram)
      : sink_(sink), fragments_(sink), bytes_(std::move(bytes)), datagram_(std::move(datagram)) {}
  void packet(const Packet& packet);
  void finish();  // hands out what waits behind gaps, counts fragments

 private:
  struct Segment {
    int64_t time;
    std::string bytes;
  };
  struct Flow {
    bool known = false, gap = true;
    uint32_t next = 0;
    std::map<uint64_t, Segment> waiting;  // by distance from `base`
    size_t waiting_bytes = 0;
    uint64_t at = 0;  // bytes handed out or skipped
    bool has_ack = false;
    uint32_t acked = 0;  // the receiver has all before this
  };
  void ip(const Packet& packet, std::string_view bytes);
  // Handles the content of an IP packet. `missing`: bytes of the packet that were not captured.
  void inner(const FlowKey& addresses, unsigned protocol, int64_t time, std::string_view bytes, size_t missing);
  void tcp(const FlowKey& addresses, int64_t time, std::string_view bytes, size_t missing);
  void udp(const FlowKey& addresses, int64_t time, std::string_view bytes);
  void segment(const FlowKey& key, Flow& flow, int64_t time, uint32_t seq, std::string_view bytes);
  void hand_out(const FlowKey& key, Flow& flow);
  void skip_gap(const FlowKey& key, Flow& flow);
  void skip_acked(const FlowKey& key, Flow& flow);

  ImportSink& sink_;
  Fragments fragments_;
  std::string whole_;  // of fragments
  const Bytes bytes_;
  const Datagram datagram_;
  std::map<FlowKey, Flow> flows_;
};

}  // namespace fsr::capture
