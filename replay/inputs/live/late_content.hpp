// SPDX-License-Identifier: Apache-2.0
// Content of files from before a live capture which operations show after the file was made. It is written before these
// operations, except where something has changed the file since. One thread.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "op_source.hpp"
#include "plan/image_tree.hpp"

namespace fsr {

class LateContent {
 public:
  void made(const ImageObject& file);                 // a file was made with what is known of it so far
  void forget(ObjectId file) { files_.erase(file); }  // it is not there any more, but others may make its name
  // Adds operations to `batch` that write what `tree` shows of such files for the first time, and notes what it shows to change.
  // Returns the number of bytes.
  uint64_t collect(const ImageTree& tree, OpBatch& batch);

 private:
  struct File {
    uint64_t size = 0;
    IntervalSet settled;  // ranges that were written, or that operations have changed
  };
  std::unordered_map<ObjectId, File> files_;  // files with unknown parts
};

}  // namespace fsr
