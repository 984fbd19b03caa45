// SPDX-License-Identifier: Apache-2.0
#include "personality.hpp"

namespace fsr::fsbench {

std::span<const Personality* const> personalities() {
  static constexpr const Personality* kAll[] = {&kBonnie, &kCompare, &kLantest, &kNfstest, &kNhfsstone, &kPostmark, &kVdbench};
  return kAll;
}

}  // namespace fsr::fsbench
