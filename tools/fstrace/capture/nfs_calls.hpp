// SPDX-License-Identifier: Apache-2.0
// NFSv3 calls and replies, as they were seen on the wire, into operations. One thread. Memory follows the calls under way and the
// files seen.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "import/import_lanes.hpp"
#include "pcap.hpp"
#include "targets/nfs/nfs3.hpp"

namespace fsr::capture {

class NfsCalls {
 public:
  explicit NfsCalls(ImportSink& sink) : sink_(sink), lanes_(sink) {}
  // A whole RPC message. `begin` and `end`: when its first and last bytes were seen.
  void message(const FlowKey& flow, int64_t begin, int64_t end, std::string_view bytes);
  // Whether such a message may begin here, in a stream whose beginning was not seen.
  bool plausible(const FlowKey& flow, std::string_view bytes) const;
  void finish();

 private:
  struct Call {
    int64_t start = 0;
    uint32_t program = 0, procedure = 0;
    std::string arguments;
    uint32_t uid = 0, gid = 0;
  };
  using Key = std::pair<FlowKey, uint32_t>;  // from the client, xid
  void call(const FlowKey& flow, int64_t time, std::string_view bytes);
  void reply(const FlowKey& flow, int64_t time, std::string_view bytes);
  void mounted(const Call& call, nfs::XdrDecoder& in);
  void operation(const FlowKey& client, const Call& call, int64_t end, nfs::XdrDecoder& in);
  bool arguments(nfs::Proc proc, nfs::XdrDecoder& in, Op* op);
  void outcome(nfs::Proc proc, const nfs::Reply& reply, Op* op);
  ObjectId object(std::string_view handle);
  ObjectId read_object(nfs::XdrDecoder& in);
  void learn(const Op& op);
  void add_listing(Op op, int32_t client);
  void end_listing(HandleId* handle, Op like);

  ImportSink& sink_;
  ImportLanes lanes_;
  std::map<Key, Call> pending_;
  std::multimap<int64_t, int> starts_;  // of these
  std::map<FlowKey, int32_t> clients_;
  std::unordered_map<std::string, ObjectId> objects_;  // by file handle
  std::map<std::pair<ObjectId, std::string>, ObjectId> names_;
  std::map<std::pair<int32_t, ObjectId>, HandleId> listings_;  // open directories, by client
  ObjectId next_object_ = kRootObject + 1;
  HandleId next_handle_ = 1;
  Attr set_, attr_;
  nfs::Reply reply_;
  std::vector<DirEntry> entries_;
};

}  // namespace fsr::capture
