// SPDX-License-Identifier: Apache-2.0
// Shared by importers of NFS traffic. Knows the file that a handle stands for and the names that the traffic has shown, and turns
// requests into operations. One thread. Memory grows with the files and names seen.
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
  // Returns the object that a request found or created at a name. `handle` empty: the handle is bound by the next reply that
  // finds the name.
  ObjectId found(std::string_view handle, ObjectId parent, std::string_view name);
  ObjectId made(std::string_view handle);
  void root(std::string_view handle);  // binds the root, unless the handle belongs to another file
  ObjectId named(ObjectId parent, std::string_view name) const;
  // Completes `op`, which succeeded, with what replies of versions 2 and 3 do not contain: the object that was removed, moved or
  // replaced. Also marks a CREATE that accepts an existing file as one that created a file.
  void infer(Op* op) const;

  bool directory(ObjectId object) const { return directories_.contains(object); }  // known to be one
  HandleId new_handle() { return next_handle_++; }
  // Notes an open instance that is still open at the end of the input; it is released there.
  void end_open(ObjectId object, HandleId handle);

  // Adds a request that was answered: checks its names, assigns a thread of `client`, and remembers what it did to names.
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
