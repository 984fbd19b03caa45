// SPDX-License-Identifier: Apache-2.0
// NFSv3 and v4 from pcap or pcapng: packets, streams of TCP and datagrams of UDP, RPC records (RFC 5531, section 11), calls and
// replies.
#include <algorithm>
#include <map>
#include <set>

#include "import/import.hpp"
#include "nfs_calls.hpp"
#include "pcap.hpp"
#include "records.hpp"

namespace fsr::capture {

namespace {

void import_pcap(ImportInput& input, const ImportOptions&, ImportSink& sink) {
  PacketReader packets(input, sink);
  NfsCalls calls(sink);
  std::map<FlowKey, Records> records;
  auto stream = [&](const FlowKey& flow, int64_t time, std::string_view bytes, bool gap) {
    records.try_emplace(flow, calls, sink, flow).first->second.bytes(time, bytes, gap);
  };
  auto datagram = [&](const FlowKey& flow, int64_t time, std::string_view bytes) {
    if (calls.plausible(flow, bytes)) return calls.message(flow, time, time, bytes);
    sink.note(ImportNotes::ignored, "UDP packets that are neither NFS calls nor replies to captured calls", 1);
  };
  TcpStreams streams(sink, stream, datagram);
  Packet packet;
  while (packets.next(&packet)) streams.packet(packet);
  streams.finish();
  std::set<FlowKey> with_tls;  // connections, in either direction
  for (auto& [flow, rest] : records) {
    if (rest.has_tls()) with_tls.insert(std::min(flow, flow.reverse()));
    rest.finish();
  }
  if (!with_tls.empty())
    sink.note(ImportNotes::lost, "NFS connections with TLS (xprtsec=), of which only the set-up can be seen", with_tls.size());
  calls.finish();
}

}  // namespace

}  // namespace fsr::capture

namespace fsr {

const Importer kPcapImporter = {
    "pcap",
    "NFSv3 over TCP or UDP and NFSv4, captured as pcap or pcapng",
    "the wall clock of the capturing machine, as fine as in the file; on a client's machine, latencies include the network",
    "processes and threads (calls in flight at the same time get different ones), opens and closes of version 3, operations that "
    "the clients' caches answered, names of files that no call showed, whether an unchecked CREATE made the file, content",
    capture::looks_like_pcap,
    capture::import_pcap,
};

}  // namespace fsr
