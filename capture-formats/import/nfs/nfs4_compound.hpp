// SPDX-License-Identifier: Apache-2.0
// Converts a COMPOUND of NFSv4 and its reply to operations (RFC 8881, section 2.3 and 16.2).
//
// Most COMPOUNDs are one operation: others in front of it select file handles, and GETFH and GETATTR behind it contain its
// results. If there are several (a walk along a path), each later one starts when the first ends. An error in front of an
// operation counts as the error of that operation.
#pragma once

#include <string>
#include <vector>

#include "nfs4_arguments.hpp"
#include "nfs4_states.hpp"
#include "nfs_files.hpp"
#include "pending_calls.hpp"

namespace fsr::capture {

class Nfs4Compound {
 public:
  Nfs4Compound(ImportSink& sink, NfsFiles& files, Nfs4States& states, nfs4::Reply& reply, const PendingCall& call, int64_t end)
      : sink_(sink), files_(files), states_(states), reply_(reply), call_(call), end_(end) {}
  // `results` stands behind the head of the RPC reply.
  void run(nfs4::XdrDecoder& results);

 private:
  bool step(uint32_t next);  // false: ignore the rest of the COMPOUND
  bool prepare(uint32_t next);
  void more(nfs4::OpNum number);
  void begin();
  bool describe();
  bool describe_state(nfs4::OpNum number);
  bool describe_name(nfs4::OpNum number);
  bool describe_data(nfs4::OpNum number);
  bool describe_open();
  void describe_create();
  bool describe_lock();
  bool describe_xattr();
  void describe_listing();
  bool close();
  void finish();
  void finish_open();
  void place();
  void resolve(std::string_view handle);
  HandleId handle(const nfs4::Stateid& state) const;

  ImportSink& sink_;
  NfsFiles& files_;
  Nfs4States& states_;
  nfs4::Reply& reply_;
  const PendingCall& call_;
  const int64_t end_;

  Nfs4Arguments asked_;
  uint32_t failed_ = nfs4::kOk;  // status of the one that failed
  ObjectId current_ = kNoObject, saved_ = kNoObject;
  bool root_ = false;              // current_ is the server's root, whose handle was not seen yet
  nfs4::Stateid state_;            // the current one
  OpKind removes_ = OpKind::null;  // as a VERIFY has shown
  unsigned done_ = 0;              // operations

  // The operation that is being put together.
  bool pending_ = false;
  enum class Finds { nothing, found, made } finds_ = Finds::nothing;  // a file whose handle may follow
  ObjectId parent_ = kNoObject;
  std::string_view name_;
  bool opens_ = false, listing_ends_ = false;
  Op op_;
  Attr set_, attr_;
  std::string xattr_;
  std::vector<DirEntry> entries_;
};

}  // namespace fsr::capture
