// SPDX-License-Identifier: Apache-2.0
#include "strangers.hpp"

namespace fsr::shim {

bool Strangers::turn_away() {
  came_.store(true, std::memory_order_relaxed);
  std::call_once(once_, [this] { gone_ = give_back && give_back(); });
  return gone_;
}

}  // namespace fsr::shim
