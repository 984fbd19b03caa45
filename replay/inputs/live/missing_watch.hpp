// SPDX-License-Identifier: Apache-2.0
// A target that notes which objects it lacks or may lack, although the capture had them, for --resync. Thread-safe.
#pragma once

#include <mutex>
#include <unordered_set>

#include "base/target_layer.hpp"

namespace fsr {

class MissingWatch final : public TargetLayer {
 public:
  using TargetLayer::TargetLayer;
  std::unique_ptr<TargetSession> open_session() override;
  std::unordered_set<ObjectId> take();  // returns those since the last call

 private:
  class Watched;
  void look(const TargetRequest& request);

  std::mutex mutex_;
  std::unordered_set<ObjectId> missing_;
};

}  // namespace fsr
