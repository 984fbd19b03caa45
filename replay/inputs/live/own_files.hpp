// SPDX-License-Identifier: Apache-2.0
// Tells apart what a preparation finds when it is repeated: files that its earlier attempts have made, and files of others. Only
// its own get content and attributes.
//
// A create whose reply was lost may or may not have made the file. Such a file is empty, because nothing was written to it.
// So an empty file of the right type counts as made, and so does a directory without directories. One thread.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/prepare.hpp"
#include "plan/image_tree.hpp"

namespace fsr {

class BlockingSession;

class OwnFiles {
 public:
  // Call after an attempt. True: it found names that an earlier attempt without a reply may have made, so another one is needed.
  bool attempted(const ImageTree& tree, const PresentNames& present, const PrepareResult& result);
  // Call before another attempt. Marks names that exist: own ones as ImageName::there, those of others as `present`. `exist`:
  // their indexes. The target knows the ids of their objects.
  void sort_out(ImageTree& tree, PresentNames& present, const std::unordered_set<size_t>& exist, BlockingSession& session);
  // Returns the failures of names that sort_out() has found to be of others.
  PrepareResult others() { return std::move(others_); }

 private:
  std::unordered_set<ObjectId> made_, perhaps_made_;
  std::unordered_map<ObjectId, Mismatch> refused_;  // creates that failed because the name was there
  PrepareResult others_;
};

}  // namespace fsr
