// SPDX-License-Identifier: Apache-2.0
// Calls and replies of nfsdump's text into operations. One thread.
#pragma once

#include <string>
#include <vector>

#include "nfs_files.hpp"
#include "nfsdump_line.hpp"
#include "pending_calls.hpp"

namespace fsr::capture {

class NfsdumpRequests {
 public:
  NfsdumpRequests(ImportSink& sink, NfsFiles& files) : sink_(sink), files_(files) {}
  // `call.arguments`: the call's line from the procedure's name on. `answer`: the reply's, behind the name.
  void add(const PendingCall& call, int64_t end, std::string_view answer);

 private:
  bool arguments(const PendingCall& call, Op* op);
  bool name_arguments(Op* op);
  bool transfer_arguments(const PendingCall& call, Op* op);
  bool access_argument(Op* op);
  void set_argument(const PendingCall& call, Op* op);
  bool outcome(const PendingCall& call, Op* op);
  bool attributes(Op* op);
  bool listing(Op* op);
  ObjectId object(const NfsdumpFields& fields, std::string_view name);

  ImportSink& sink_;
  NfsFiles& files_;
  NfsdumpFields asked_, answered_;
  Attr set_, attr_;
  std::string name_, name2_, target_;
  std::vector<std::string> names_;  // of a listing
  std::vector<DirEntry> entries_;
};

}  // namespace fsr::capture
