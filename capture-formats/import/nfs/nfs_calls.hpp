// SPDX-License-Identifier: Apache-2.0
// Turns RPC calls and replies, as seen on the wire, into operations. One thread. Memory grows with the calls in flight and the
// files seen.
#pragma once

#include <set>

#include "nfs3_requests.hpp"
#include "nfs4_states.hpp"
#include "pending_calls.hpp"

namespace fsr::capture {

class NfsCalls {
 public:
  explicit NfsCalls(ImportSink& sink) : sink_(sink), pending_(sink), files_(sink), nfs3_(sink, files_) {}
  // Takes a complete RPC message. `begin` and `end`: times of its first and last bytes.
  void message(const FlowKey& flow, int64_t begin, int64_t end, std::string_view bytes);
  // True if a message may begin with these kPlausible bytes, in a stream whose beginning was not seen. A reply that refuses the
  // call may be shorter.
  static constexpr size_t kPlausible = 24;
  bool plausible(const FlowKey& flow, std::string_view bytes) const;
  // True: this direction of a connection has agreed to TLS (RFC 9289), so that no message follows.
  bool agreed_to_tls(const FlowKey& flow) const { return !with_tls_.empty() && with_tls_.contains(flow); }
  void finish();

 private:
  void call(const FlowKey& flow, int64_t time, std::string_view bytes);
  void reply(const FlowKey& flow, int64_t time, std::string_view bytes);
  void mounted(nfs::XdrDecoder& in);
  void compound(const PendingCall& call, int64_t end, nfs::XdrDecoder& in);

  ImportSink& sink_;
  PendingCalls pending_;
  NfsFiles files_;
  Nfs3Requests nfs3_;
  Nfs4States nfs4_;
  nfs4::Reply reply4_;
  std::set<FlowKey> with_tls_;
};

}  // namespace fsr::capture
