// SPDX-License-Identifier: Apache-2.0
// The initial image as data: objects, their names (parents first), open instances and locks. ImageBuilder fills it; the sources
// that make the image read it, and so does reuse. Not thread-safe while it is filled.
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

// An unlinked temporary file with the captured content of files of the image, which may be larger than memory.
class Spill {
 public:
  ~Spill();
  uint64_t append(std::string_view data);  // returns the offset in the temporary file; throws std::system_error
  void read(uint64_t at, char* to, size_t length) const;

 private:
  int fd_ = -1;
  uint64_t size_ = 0;
};

struct ImageXattr {
  std::string name, value;
  uint64_t size = 0;
  bool present = false;  // false: an operation of the range made it, or may have
  bool settled = false;  // true: later operations tell nothing more about the initial value
};

struct ImageRange {
  uint64_t offset = 0, length = 0;
};

struct ImageExtent {
  uint64_t offset = 0, length = 0;  // in the file
  uint64_t spilled = 0;             // offset in the spill
};

struct ImageObject {
  ObjectId id = kNoObject;
  uint32_t type = 0;  // S_IFMT bits; 0: not known
  Attr attr;          // first value seen of each attribute
  std::string target;
  bool size_changed = false;  // true: the range has changed the size, so later sizes are not the initial one
  uint32_t changed = 0;       // bits as in Attr::valid: what the range has changed otherwise
  bool reshaped = false;      // true: the range changes blocks or extended attributes, which a reuse can't compare
  uint64_t read_end = 0;
  uint64_t changed_to = 0;  // end of the changed part; data that is read beyond it existed at the start
  std::vector<ImageXattr> xattrs;
  IntervalSet settled;  // ranges whose initial content is known or no longer matters
  std::vector<ImageExtent> extents;
  IntervalSet touched;           // of a file with holes: what was read or overwritten
  std::vector<ImageRange> data;  // of a file with holes: where its data is to be; empty: at the front
  uint64_t data_bytes = 0;       // sum of `data`
  uint32_t names = 0;
  bool opened = false;  // at the start of the range
  bool refused = false;

  bool directory() const;
  uint64_t size() const;  // as far as known; 0: not known
  bool holes() const;     // true: fewer blocks than the size takes
  // Returns the number of bytes to be written, without the holes that the block count shows.
  // Returns 0 for a file larger than kMostData, which becomes one hole.
  uint64_t data_length() const;
  static constexpr uint64_t kMostData = uint64_t(1) << 44;  // bytes, the largest file of ext4; only a sparse file is larger
};

struct ImageName {
  ObjectId parent = kNoObject;
  std::string name;
  uint32_t object = 0;  // index into ImageTree::objects
  bool link = false;    // true: not the first name of the object
  bool placed = false;  // true: the name is made up
  bool there = false;   // true: the target has the name, made earlier without what is known of its object now
};

struct ImageTree {
  ImageOptions options;
  ImageSummary summary;
  std::vector<ImageObject> objects;  // [0] is the root
  std::vector<ImageName> names;      // parents first
  std::vector<LiveOpen> opens;
  std::vector<LiveLock> locks;
  Spill spill;
  ObjectId next_object = kRootObject + 1;  // larger than every id of the range
  HandleId next_handle = 1;

  void count();  // counts into `summary` what is to be made

  ObjectId object_id(ObjectId id, unsigned clone) const;  // id on the target
  HandleId handle_id(HandleId id, unsigned clone) const;
  ObjectId spare_object(unsigned index) const;  // an id of no clone
  HandleId spare_handle(uint64_t index) const;
};

struct Image::Impl {
  ImageTree tree;
};

}  // namespace fsr
