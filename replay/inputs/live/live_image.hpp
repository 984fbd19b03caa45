// SPDX-License-Identifier: Apache-2.0
// Files that existed before a capture which is replayed while it goes on: made, or looked up, on the target just before their
// first use.
//
// The trace cannot be read before. Each window of operations shows what existed before it (Image::analyze). Files that no earlier
// window has shown are prepared, while the operations of earlier windows still run. They are made with O_EXCL.
// Names that a listing alone has shown are made anew, and removed before. This befalls hard links, and symbolic links of which
// the target becomes known. One thread.
//
// With clones (LiveOptions::clones), the operations are those of all clones (plan/clones.hpp), and so the directories of the
// clones are files from before the capture, too.
//
// A preparation that the target leaves without a reply is repeated for LiveOptions::lag_max. An object that could not
// be made is tried again when a later window shows it. A file that others have made counts as a failure, and gets nothing but the
// operations (OwnFiles).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.hpp"
#include "engine/prepare.hpp"
#include "inputs/live/checkpoint_use.hpp"
#include "inputs/live/kept_session.hpp"
#include "inputs/live/late_content.hpp"
#include "inputs/live/live_names.hpp"
#include "inputs/live/live_options.hpp"
#include "inputs/live/live_status.hpp"
#include "inputs/live/own_files.hpp"
#include "op_source.hpp"
#include "plan/image.hpp"
#include "trace/paths.hpp"
#include "util/object_set.hpp"

namespace fsr {

struct ImageTree;
class KnockOnTracker;

// Objects and handles without an id in the trace get one from here on, which no capture reaches.
constexpr uint64_t kFirstFree = 1ull << 60;

class LiveImage {
 public:
  // `known`: that of the run, used by the caller's thread. `differences`: of the run. All must outlive this object.
  LiveImage(Target& target, Clock& clock, const LiveOptions& live, const ImageOptions& options, const CredentialMap* credentials,
            ObjectSet& known, KnockOnTracker& differences, const std::atomic<int>* stop);
  // Open instances and locks of this state are opened and taken when their objects are first used; locks only if `locks`. Must
  // outlive this object.
  void begin_with(const LiveState& state, bool locks);
  // Call in order. `later`: operations that started after the window, while its operations were in flight. Their objects did not
  // exist before the window, although it may show them.
  void prepare(std::span<const Op> window, std::span<const Op> later);
  // Objects that the target lacks now. They are made again when a window uses them, if LiveOptions::resync is set.
  void forget(const std::unordered_set<ObjectId>& missing);
  const LiveCounts& counts() const { return counts_; }

 private:
  using Indexes = std::vector<size_t>;  // into ImageTree::names

  void show_clones(std::span<const Op> window, OpBatch& shown) const;
  void show_missing(std::span<const Op> window, OpBatch& shown) const;
  PresentNames sort_out(ImageTree& tree, int64_t begin, Indexes& unsure) const;
  bool over(int64_t begin) const;
  PrepareResult attempt(Image& image, const PresentNames& present, const OpBatch& late);
  PrepareResult attempts(Image& image, PresentNames& present, const OpBatch& late);
  PrepareResult perform(const std::vector<Op>& ops);
  std::unordered_set<size_t> look_up(const ImageTree& tree, const Indexes& names);
  struct Learnt {
    std::unordered_set<ObjectId> failed, others;  // objects that the target does not know; files that others have made
  };
  Learnt learn(const ImageTree& tree, const PrepareResult& result);
  void keep(const ImageTree& tree, const PresentNames& present, const Learnt& learnt);

  Clock& clock_;
  OwnFiles own_;
  KeptSession target_;
  const LiveFiles how_;
  const bool resync_;
  const unsigned clones_;
  ImageOptions options_;
  const CredentialMap* const credentials_;
  ObjectSet& known_;
  KnockOnTracker& differences_;
  const int64_t patience_;  // ns
  const std::atomic<int>* const stop_;
  LiveNames names_;
  std::optional<CheckpointUse> checkpoint_;
  Attr root_;    // of the captured directory, as far as the checkpoint tells
  Paths paths_;  // with resync_ only
  LateContent content_;
  std::unordered_set<ObjectId> missing_;  // could not be made or looked up, or is not there any more
  LiveCounts counts_;
};

}  // namespace fsr
