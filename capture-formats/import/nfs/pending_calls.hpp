// SPDX-License-Identifier: Apache-2.0
// RPC calls that wait for their replies, by client and xid. One thread. Memory grows with the calls in flight, at most
// kMostPending.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "flow.hpp"
#include "import/import.hpp"

namespace fsr::capture {

struct PendingCall {
  int64_t start = 0;   // ns
  int32_t client = 0;  // number of the connection, from 1
  uint32_t program = 0, version = 0, procedure = 0;
  uint32_t uid = 0, gid = 0;
  enum class Form : uint8_t {
    plain,
    with_checksum,  // arguments and results are those of sec=krb5i (RFC 2203, section 5.3.2.2)
    asks_for_tls,
    counted,  // it has been counted, and the reply is of no interest
  } form = Form::plain;
  std::string arguments;
};

class PendingCalls {
 public:
  explicit PendingCalls(ImportSink& sink) : sink_(sink) {}
  // `flow`: from the client. A call that is sent again, word for word, is counted and left out; another one with the same xid
  // ends the wait for the first, which is lost.
  void add(const FlowKey& flow, uint32_t xid, PendingCall call);
  bool contains(const FlowKey& flow, uint32_t xid) const;
  bool take(const FlowKey& flow, uint32_t xid, PendingCall* call);  // false: no such call was seen
  // Call this when the input has been read up to `time`. Calls that have waited longer than kLongestWait are lost. Passes the
  // earliest start that can still come on to the sink.
  void passed(int64_t time);
  void finish();  // counts the calls that still wait as lost

 private:
  using Key = uint64_t;  // client, xid
  bool find(const FlowKey& flow, uint32_t xid, Key* key) const;
  void remove(std::unordered_map<Key, PendingCall>::iterator it);
  void lose(Key key);

  ImportSink& sink_;
  std::map<FlowKey, int32_t> clients_;
  std::unordered_map<Key, PendingCall> calls_;
  std::set<std::pair<int64_t, Key>> by_start_;
};

}  // namespace fsr::capture
