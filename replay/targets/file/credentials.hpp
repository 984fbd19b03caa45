// SPDX-License-Identifier: Apache-2.0
// Acting as somebody else on the calling thread, for as long as the object lives.
#pragma once

#include "base/target.hpp"

namespace fsr {

class ActAs {
 public:
  // Null: nobody else. Supplementary groups are not recorded, so there are none while acting as another user.
  explicit ActAs(const Credentials* who);
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;

 private:
  bool active_ = false;
};

}  // namespace fsr
