// SPDX-License-Identifier: Apache-2.0
// The initial image: files and directories that existed before a range of operations, as these operations show, and the
// operations that make them.
//
// analyze() is one streaming pass. Its memory depends on the number of objects of the image. The image is built on the target by
// run() of its sources with Timing::asap, before the clock of the replay starts.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "op_source.hpp"

namespace fsr {

class LiveState;
class SplitSurvey;
struct ImageTree;

// Numbers of the clones that a process has: all, or every step-th from `first` on if several processes share them.
struct CloneNumbers {
  unsigned all = 1, first = 0, step = 1;
  unsigned count() const { return (all - first + step - 1) / step; }
};

struct ImageOptions {
  int64_t from = 0;
  int64_t to = INT64_MAX;
  CloneNumbers clones;
  unsigned cloned = 1;       // the operations are those of so many clones already (add_clones()), and show their directories
  bool privileged = false;   // keep device nodes, set-id bits, trusted and security xattrs
  bool owners = false;       // set the recorded owner and group (needs privileges on the target)
  bool content = true;       // keep captured content of files that are read before they are written
  uint64_t first_free = 0;   // objects and handles that are not named by the operations get ids from here on
  bool in_use = false;       // others use the target meanwhile: files are made with O_EXCL
  size_t memory = SIZE_MAX;  // approximate limit in bytes for analyze(), which throws std::length_error beyond it
};

struct ImageSummary {
  uint64_t directories = 0, files = 0, symlinks = 0, hard_links = 0, special = 0;  // to be made, with this process's clones
  uint64_t bytes = 0;                                                              // of file data to be written
  uint64_t apparent = 0;                                                           // sum of file sizes (holes included)
  uint64_t open_files = 0;                                                         // open instances from before the start
  uint64_t refused_names = 0;                                                      // names that are not a valid component
  uint64_t refused_special = 0;                                                    // device nodes, left out without privileges
  uint64_t stripped_bits = 0;  // files whose set-id bits are left out, without privileges
  uint64_t refused_xattrs = 0;
  uint64_t guessed_sizes = 0;          // files whose size no operation returned, so that the reads give it
  uint64_t placed_objects = 0;         // objects that are used but whose names were never seen; they get names of their own
  uint64_t operations = 0;             // of the range itself, without clones
  std::array<uint64_t, 64> by_kind{};  // of the range itself, index OpKind
  uint64_t max_in_flight = 0;          // recorded concurrency
  uint64_t streams = 0;
  int64_t first = 0, last = 0;  // recorded start of the first and the last operation of the range
  int64_t last_end = 0;         // latest recorded end
  bool timed = false;           // an operation took time; some logs have no durations
};

class Image {
 public:
  Image();
  ~Image();
  Image(Image&&) noexcept;
  Image& operator=(Image&&) noexcept;

  // Reads `source` (in start order) from options.from to options.to. `state`: what was known just before the first operation
  // (TraceReader::load_state); empty for a whole trace. `progress`: called now and then with the recorded time reached; may be
  // empty. `survey`: receives all operations as well; may be null.
  static Image analyze(OpSource& source, LiveState state, const ImageOptions& options,
                       const std::function<void(int64_t position)>& progress = {}, SplitSurvey* survey = nullptr);

  // Makes an image that is known beforehand. `fill` receives a tree that holds the root only. It adds objects, names (parents
  // first) and open instances.
  static Image of(const std::function<void(ImageTree&)>& fill);

  const ImageSummary& summary() const;

  // For prepare() (engine/prepare.hpp), which most callers use instead.
  struct Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
