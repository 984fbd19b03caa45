// SPDX-License-Identifier: Apache-2.0
#include "targets/lanes.hpp"

namespace fsr {

Detached Lanes::lane(Work work, void* context) {
  co_await work(context);
  if (--left_ == 0 && waiter_) waiter_.resume();
}

}  // namespace fsr
