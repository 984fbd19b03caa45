// SPDX-License-Identifier: Apache-2.0
// Files that existed before a capture which is replayed while it goes on: made, or looked up, on the target just before their
// first use.
//
// The trace cannot be read before. Each window of operations shows what existed before it (Image::analyze). Files that no earlier
// window has shown are prepared, while the operations of earlier windows still run. They are made with O_EXCL, and nothing is
// ever removed. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>

#include "base/clock.hpp"
#include "engine/prepare.hpp"
#include "inputs/live/live_options.hpp"
#include "op_source.hpp"
#include "plan/image.hpp"
#include "util/object_set.hpp"

namespace fsr {

struct ImageTree;

// Objects and handles without an id in the trace get one from here on, which no capture reaches.
constexpr uint64_t kFirstFree = 1ull << 60;

struct LiveCounts {
  uint64_t directories = 0, files = 0;  // made or looked up
  uint64_t bytes = 0;                   // of file data that was made
  uint64_t failed = 0;                  // operations that failed
  std::string first_failed;             // the first of them; empty: none
};

class LiveImage {
 public:
  // `known`: that of the run, used by the caller's thread. All must outlive this object.
  LiveImage(Target& target, Clock& clock, LiveFiles how, const ImageOptions& options, const CredentialMap* credentials,
            ObjectSet& known, const std::atomic<int>* stop);
  void prepare(const OpBatch& window);  // call in order
  const LiveCounts& counts() const { return counts_; }

 private:
  PresentNames sort_out(ImageTree& tree, std::vector<size_t>& listed);
  void adopt(const ImageTree& tree, const std::vector<size_t>& listed);
  void remember(const Op& op);
  void count(const PrepareResult& result);

  Target& target_;
  Clock& clock_;
  const LiveFiles how_;
  ImageOptions options_;
  const CredentialMap* const credentials_;
  ObjectSet& known_;
  const std::atomic<int>* const stop_;
  ObjectSet objects_, handles_;         // of earlier windows
  std::unordered_set<uint64_t> names_;  // hashes of parent and name: names that operations have shown, and did not remove
  LiveCounts counts_;
};

}  // namespace fsr
