// SPDX-License-Identifier: Apache-2.0
// The initial image as data: objects, their names in an order in which parents come first, what was open and locked.
// Filled by ImageBuilder, read by the sources that make it and by reuse. Not thread-safe while it is filled.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "op.hpp"
#include "plan/image.hpp"
#include "trace/live_state.hpp"
#include "util/interval_set.hpp"

namespace fsr {

// Captured content of what existed before, kept in an unlinked temporary file: it may be larger than memory.
class Spill {
 public:
  ~Spill();
  uint64_t append(std::string_view data);  // where; throws std::system_error
  void read(uint64_t at, char* to, size_t length) const;

 private:
  int fd_ = -1;
  uint64_t size_ = 0;
};

struct ImageXattr {
  std::string name, value;
  uint64_t size = 0;
  bool present = false;  // false: an operation of the range set or removed it first
};

struct ImageExtent {
  uint64_t offset = 0, length = 0;  // of the file
  uint64_t spilled = 0;             // where it is in the spill
};

struct ImageObject {
  ObjectId id = kNoObject;
  uint32_t type = 0;  // S_IFMT bits, 0 = never told
  Attr attr;          // the first known
  std::string target;
  bool size_changed = false;  // from now on, what is seen is not the initial size
  uint64_t read_end = 0;
  uint64_t changed_to = 0;  // how far changes have reached: what is read beyond was there before
  std::vector<ImageXattr> xattrs;
  IntervalSet settled;  // ranges whose initial content is known or no longer matters
  std::vector<ImageExtent> extents;
  uint32_t names = 0;
  bool opened = false;  // at the start
  bool refused = false;

  bool directory() const;
  uint64_t size() const;  // as far as known
  // Bytes to be written: without the hole that the block count shows at the end. A file beyond kMostData becomes one
  // hole.
  uint64_t data_length() const;
  static constexpr uint64_t kMostData = uint64_t(1) << 44;  // bytes, the largest file of ext4; what is larger is sparse
};

struct ImageName {
  ObjectId parent = kNoObject;
  std::string name;
  uint32_t object = 0;  // index
  bool link = false;    // not the object's first name
  bool placed = false;  // the name is made up
};

struct ImageTree {
  ImageOptions options;
  ImageSummary summary;
  std::vector<ImageObject> objects;  // [0] is the root
  std::vector<ImageName> names;      // parents first
  std::vector<LiveOpen> opens;
  std::vector<LiveLock> locks;
  Spill spill;
  ObjectId next_object = kRootObject + 1;  // above every id of the range
  HandleId next_handle = 1;

  void count();  // what is to be made, into `summary`

  ObjectId object_id(ObjectId id, unsigned clone) const;  // on the target
  HandleId handle_id(HandleId id, unsigned clone) const;
  ObjectId spare_object(unsigned index) const;  // belongs to no clone
  HandleId spare_handle(uint64_t index) const;
};

struct Image::Impl {
  ImageTree tree;
};

}  // namespace fsr
