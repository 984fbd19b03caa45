// SPDX-License-Identifier: Apache-2.0
// The initial image: what the operations of a range show to have existed before its start, and the operations that make it.
//
// analyze() is one streaming pass; memory follows the number of objects of the image. The image is built by run()ning its
// sources with Timing::asap on the target, before the clock of the replay starts.
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

// The clones that a process has: all, or every step-th of them where several processes share them.
struct CloneNumbers {
  unsigned all = 1, first = 0, step = 1;
  unsigned count() const { return (all - first + step - 1) / step; }
};

struct ImageOptions {
  int64_t from = 0;
  int64_t to = INT64_MAX;
  CloneNumbers clones;
  bool privileged = false;   // keep device nodes, set-id bits, trusted and security xattrs
  bool owners = false;       // set the recorded owner and group (needs privilege on the target)
  bool content = true;       // keep captured content of files that are read before they are written
  size_t memory = SIZE_MAX;  // bytes that analyze() may take, about; std::length_error when that isn't enough
};

struct ImageSummary {
  uint64_t directories = 0, files = 0, symlinks = 0, hard_links = 0, special = 0;  // to be made, this process's clones included
  uint64_t bytes = 0;                                                              // of file data to be written
  uint64_t apparent = 0;                                                           // sum of file sizes (holes included)
  uint64_t open_files = 0;                                                         // opened before the start
  uint64_t refused_names = 0;                                                      // not a valid component
  uint64_t refused_special = 0;                                                    // device nodes, without privilege
  uint64_t stripped_bits = 0;                                                      // set-id bits, without privilege
  uint64_t refused_xattrs = 0;
  uint64_t guessed_sizes = 0;          // never told: taken from the reads
  uint64_t placed_objects = 0;         // used, but no name ever seen: given a name of their own
  uint64_t operations = 0;             // of the range itself, without clones
  std::array<uint64_t, 64> by_kind{};  // of the range itself, index OpKind
  uint64_t max_in_flight = 0;          // recorded concurrency
  uint64_t streams = 0;
  int64_t first = 0, last = 0;  // recorded start of the first and the last operation of the range
  int64_t last_end = 0;         // latest recorded end
};

class Image {
 public:
  Image();
  ~Image();
  Image(Image&&) noexcept;
  Image& operator=(Image&&) noexcept;

  // Reads `source` (in start order) from options.from to options.to. `state` is what was known just before the first operation
  // (TraceReader::load_state), empty for a whole trace. `progress` gets the recorded time reached, now and then; may be empty.
  // `survey` looks at all of it as well; may be null.
  static Image analyze(OpSource& source, LiveState state, const ImageOptions& options,
                       const std::function<void(int64_t position)>& progress = {}, SplitSurvey* survey = nullptr);

  // An image that is known beforehand: `fill` gets a tree that holds the root alone, and adds objects, names (parents first) and
  // opens.
  static Image of(const std::function<void(ImageTree&)>& fill);

  const ImageSummary& summary() const;

  // For prepare() (engine/prepare.hpp), which is what callers want.
  struct Impl;
  Impl& impl() { return *impl_; }
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
