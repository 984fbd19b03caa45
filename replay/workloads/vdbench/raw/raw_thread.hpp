// SPDX-License-Identifier: Apache-2.0
// One thread of a WD on an SD: reads and writes its blocks until the run ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/page_buffer.hpp"
#include "base/task.hpp"
#include "threads/sim_context.hpp"
#include "workloads/vdbench/content/content.hpp"
#include "workloads/vdbench/error_log.hpp"
#include "workloads/vdbench/pace/pace.hpp"
#include "workloads/vdbench/raw/area.hpp"
#include "workloads/vdbench/validate/validator.hpp"

namespace fsr::vdbench {

// Data for writes to SDs, which does not compress, in memory that a device can read directly. Constant once made.
class Pattern {
 public:
  explicit Pattern(uint64_t largest);  // largest write, bytes
  // Returns the data for an offset. `length`: at most `largest`. The data begins at a page of memory.
  std::string_view get(uint64_t offset, uint64_t length) const;

 private:
  static constexpr uint64_t kPage = 4096, kPages = 61;
  PageBuffer bytes_;
};

// An open SD. Constant while threads use it.
struct OpenStorage {
  const Storage* settings = nullptr;
  ObjectId object = kNoObject;
  HandleId handle = 0;
  uint64_t size = 0;  // bytes
  unsigned target_index = 0;
  bool device = false;
  uint32_t access = 0, flags = 0;              // of a file: O_* flags of its open
  ValidatedStorage* validated = nullptr;       // with data validation; otherwise null
  const std::atomic<bool>* removed = nullptr;  // true: the SD is not used any more
  // Part of an SD that consists of several: its beginning in the SD, and its first used byte.
  struct Part {
    const OpenStorage* storage;
    uint64_t begin, from, length;
  };
  std::vector<Part> parts{};
};

// State that the threads of one work share.
struct RawContext {
  const RawWork& work;
  unsigned number;  // index in the run's works
  const OpenStorage& storage;
  Areas areas;
  Cursors cursors;
  Pace& pace;
  ErrorLog& errors;
  ValidatedRun& validation;
  std::unique_ptr<const Content> content{};  // null: content of Pattern
  std::atomic<unsigned> threads{0};
  RawContext(const RawWork& w, unsigned n, const OpenStorage& s, Pace& p, ErrorLog& e, ValidatedRun& v,
             uint64_t seed);  // throws what Areas throws
};

class RawThread final : public SimThread {
 public:
  RawThread(RawContext& context, const Pattern& pattern, const Validation& validation, unsigned thread, uint64_t seed);
  SimTask run(SimContext& sim) override;

 private:
  void failed(const OpenStorage& storage, const Chooser::Next& what, int error);
  // Returns the SD of a transfer. A transfer that reaches beyond the end of a part is truncated there.
  const OpenStorage& locate(Chooser::Next& next) const;

  RawContext& context_;
  Chooser chooser_;
  const Pattern& pattern_;
  std::unique_ptr<Validator> validator_;  // may be null
  std::optional<ContentWriter> writer_;   // only if the work has a content
};

}  // namespace fsr::vdbench
