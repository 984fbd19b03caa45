// SPDX-License-Identifier: Apache-2.0
// A target that can't express what would change it, for --read-only.
#pragma once

#include "base/target_layer.hpp"

namespace fsr {

class ReadOnlyTarget final : public TargetLayer {
 public:
  using TargetLayer::TargetLayer;
  Fidelity fidelity(const Op& op) const override;
};

}  // namespace fsr
