// SPDX-License-Identifier: Apache-2.0
// Lets the calling thread act as another user while the object lives.
#pragma once

#include "base/target.hpp"

namespace fsr {

class ActAs {
 public:
  // `who`: the user to act as; null or root: no change. The thread has no supplementary groups meanwhile, because they are not
  // recorded.
  explicit ActAs(const Credentials* who);
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;

 private:
  bool active_ = false;
};

}  // namespace fsr
