// SPDX-License-Identifier: Apache-2.0
// What importers of NFS traffic share: which file a handle stands for, which names the traffic has shown, and how its requests
// become operations of a trace. One thread. Memory follows the files and names seen.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "import/import_lanes.hpp"

namespace fsr::capture {

class NfsFiles {
 public:
  explicit NfsFiles(ImportSink& sink) : sink_(sink), lanes_(sink) {}

  ObjectId object(std::string_view handle);  // kNoObject for none
  // What a request found or made at a name; where its reply has no handle, the next one that finds it tells which it was.
  ObjectId found(std::string_view handle, ObjectId parent, std::string_view name);
  ObjectId made(std::string_view handle);
  void root(std::string_view handle);  // unless it is known as another file
  ObjectId named(ObjectId parent, std::string_view name) const;
  // What versions 2 and 3 do not tell of a request that succeeded: what was removed, moved or replaced, and whether a CREATE that
  // need not make its file did.
  void infer(Op* op) const;

  bool directory(ObjectId object) const { return directories_.contains(object); }  // known to be one
  HandleId new_handle() { return next_handle_++; }
  // What is open when the input ends ends with it.
  void end_open(ObjectId object, HandleId handle);

  // A request that was answered: checks its names, puts it on a thread of `client`, adds it and remembers what it did to names.
  // `listing_ends`: a listing's last part.
  void add(int32_t client, Op op, bool listing_ends = false);
  void finish();

 private:
  using Listings = std::map<std::pair<int32_t, ObjectId>, HandleId>;
  bool names_fit(const Op& op);
  void add_listing(Op op, int32_t client, bool ends);
  void end_listing(HandleId* handle, Op like);
  Op at_end(ObjectId object) const;
  void learn(const Op& op);

  ImportSink& sink_;
  ImportLanes lanes_;
  std::unordered_map<std::string, ObjectId> objects_;  // by file handle
  std::unordered_set<ObjectId> without_handle_, directories_;
  std::map<std::pair<ObjectId, std::string>, ObjectId> names_;
  Listings listings_;  // open directories, by client
  Op last_;            // that ended last
  ObjectId next_object_ = kRootObject + 1;
  HandleId next_handle_ = 1;
};

// ACCESS bits as R_OK | W_OK | X_OK.
uint32_t access_mode(uint32_t bits);

}  // namespace fsr::capture
