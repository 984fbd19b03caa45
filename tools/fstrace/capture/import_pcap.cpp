// SPDX-License-Identifier: Apache-2.0
// NFSv3 and v4 from pcap or pcapng: packets, streams of TCP and datagrams of UDP, RPC records (RFC 5531, section 11), calls and
// replies.
#include "import_pcap.hpp"

#include "nfs_calls.hpp"
#include "pcap.hpp"

namespace fsr::capture {

namespace {

constexpr size_t kLongestRecord = 4 << 20;  // bytes of an RPC message

// The records of one direction of a connection.
class Records {
 public:
  void bytes(NfsCalls& calls, ImportSink& sink, const FlowKey& flow, int64_t time, std::string_view fresh, bool gap) {
    if (gap) {
      if (in_step_ && !(buffer_.empty() && message_.empty()))
        sink.note(ImportNotes::lost, "RPC messages with bytes that were lost", 1);
      in_step_ = false;
    }
    if (!in_step_) {
      // Only a segment's beginning may be a record's.
      buffer_.clear();
      message_.clear();
      if (fresh.size() < 12 || mark_of(fresh) == 0 || !calls.plausible(flow, fresh.substr(4))) return;
      in_step_ = true;
    }
    if (buffer_.empty() && message_.empty()) begin_ = time;
    buffer_ += fresh;
    size_t at = 0;
    while (buffer_.size() - at >= 4) {
      const std::string_view rest = std::string_view(buffer_).substr(at);
      const uint32_t mark = nfs::XdrDecoder({reinterpret_cast<const uint8_t*>(rest.data()), 4}).u32();
      const size_t size = mark & 0x7fffffff;
      if (size > kLongestRecord || message_.size() + size > kLongestRecord) {
        sink.note(ImportNotes::lost, "RPC messages that are damaged", 1);
        in_step_ = false;
        buffer_.clear();
        message_.clear();
        return;
      }
      if (rest.size() < 4 + size) break;
      message_ += rest.substr(4, size);
      at += 4 + size;
      if (!(mark & 0x80000000)) continue;
      calls.message(flow, begin_, time, message_);
      message_.clear();
      begin_ = time;
    }
    buffer_.erase(0, at);
  }

 private:
  static size_t mark_of(std::string_view bytes) {
    const uint32_t mark = nfs::XdrDecoder({reinterpret_cast<const uint8_t*>(bytes.data()), 4}).u32();
    const size_t size = mark & 0x7fffffff;
    return size <= kLongestRecord ? size : 0;
  }

  bool in_step_ = false;
  int64_t begin_ = 0;
  std::string buffer_, message_;
};

void run(ImportInput& input, const ImportOptions&, ImportSink& sink) {
  PacketReader packets(input, sink);
  NfsCalls calls(sink);
  std::map<FlowKey, Records> records;
  auto stream = [&](const FlowKey& flow, int64_t time, std::string_view bytes, bool gap) {
    auto it = records.find(flow);
    if (it == records.end()) {
      // A connection that begins with something else is none of ours.
      it = records.emplace(flow, Records()).first;
      gap = true;
    }
    it->second.bytes(calls, sink, flow, time, bytes, gap);
  };
  auto datagram = [&](const FlowKey& flow, int64_t time, std::string_view bytes) {
    if (calls.plausible(flow, bytes)) return calls.message(flow, time, time, bytes);
    sink.note(ImportNotes::ignored, "packets of UDP that are no calls of NFS nor replies to those seen", 1);
  };
  Streams streams(sink, stream, datagram);
  Packet packet;
  while (packets.next(&packet)) streams.packet(packet);
  streams.finish();
  calls.finish();
}

}  // namespace

}  // namespace fsr::capture

namespace fsr {

const Importer kPcapImporter = {
    "pcap",
    "NFSv3 over TCP or UDP and NFSv4, captured as pcap or pcapng",
    "the wall clock of the capturing machine, as fine as the file has it; on a client's machine latencies are what it saw",
    "processes and threads (calls under way at the same time are on different ones), opens and closes of version 3, what the "
    "clients' caches answered, names of files that no call showed, whether an unchecked CREATE made the file, content",
    capture::looks_like_pcap,
    capture::run,
};

}  // namespace fsr
