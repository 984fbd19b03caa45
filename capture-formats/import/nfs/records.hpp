// SPDX-License-Identifier: Apache-2.0
// The RPC messages of one direction of a TCP connection (RFC 5531, section 11: fragments, each behind a mark of four bytes).
//
// At the start of a connection, and after missing bytes, the next message is searched byte by byte. A message is a mark of a
// possible size, and the head of a call or of the reply to a call in flight. Bytes that are skipped are counted. One thread.
//
// TLS records are counted instead on a connection that has agreed to TLS (RFC 9289), and on one to the port of NFS without
// messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "flow.hpp"
#include "import/import.hpp"
#include "nfs_calls.hpp"
#include "tls_records.hpp"

namespace fsr::capture {

class Records {
 public:
  Records(NfsCalls& calls, ImportSink& sink, FlowKey flow) : calls_(calls), sink_(sink), flow_(std::move(flow)) {}

  // Takes the next bytes. `gap`: some before these were lost.
  void bytes(int64_t time, std::string_view fresh, bool gap);
  void finish();  // counts the bytes that were not used
  bool has_tls() const { return agreed_ || tls_.found(); }

 private:
  bool find_step();
  bool take();  // false: this is no message
  void pass(size_t bytes);
  bool is_nfs_port() const;
  bool take_tls(std::string_view fresh, bool gap);

  NfsCalls& calls_;
  ImportSink& sink_;
  const FlowKey flow_;
  bool in_step_ = false, ever_ = false;
  bool agreed_ = false;  // to TLS
  int64_t time_ = 0;     // time of the latest bytes
  int64_t begin_ = 0;    // time at which the present message began
  uint64_t passed_ = 0;  // bytes, before the connection was known to be one of NFS
  TlsRecords tls_;
  std::string buffer_, message_;  // not used yet; fragments before those
};

}  // namespace fsr::capture
