// SPDX-License-Identifier: Apache-2.0
// Hands out the checkpoint at the start of a live capture, object by object, when a window of operations first uses the object.
// With it come its name, open instances and locks. One thread.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "trace/live_state.hpp"
#include "trace/paths.hpp"
#include "util/object_set.hpp"

namespace fsr {

class CheckpointUse {
 public:
  // `state`: must outlive this object. `locks`: false: leaves them out, because taking one changes the target. `clones`: of each
  // operation (plan/clones.hpp).
  CheckpointUse(const LiveState& state, bool locks, unsigned clones);

  // Returns the part of the state that belongs to objects which `window` uses and no earlier window has used, with the
  // directories above them.
  LiveState first_used(std::span<const Op> window);

 private:
  void add(ObjectId object, LiveState& part);

  const LiveState& state_;
  const unsigned clones_;
  Paths paths_;
  std::unordered_map<ObjectId, std::vector<LiveOpen>> opens_;
  std::unordered_map<ObjectId, std::vector<LiveLock>> locks_;
  ObjectSet used_;
};

}  // namespace fsr
