// SPDX-License-Identifier: Apache-2.0
// Calls of NFS version 3 and their replies into operations. One thread.
#pragma once

#include <vector>

#include "nfs/nfs3.hpp"
#include "nfs_files.hpp"
#include "pending_calls.hpp"

namespace fsr::capture {

class Nfs3Requests {
 public:
  Nfs3Requests(ImportSink& sink, NfsFiles& files) : sink_(sink), files_(files) {}
  // `in` stands at the results.
  void add(const PendingCall& call, int64_t end, nfs::XdrDecoder& in);

 private:
  bool arguments(nfs::Proc proc, nfs::XdrDecoder& in, Op* op);
  void outcome(nfs::Proc proc, Op* op);
  ObjectId object(nfs::XdrDecoder& in);

  ImportSink& sink_;
  NfsFiles& files_;
  Attr set_, attr_;
  nfs::Reply reply_;
  std::vector<DirEntry> entries_;
};

inline std::span<const uint8_t> span_of(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace fsr::capture
