// SPDX-License-Identifier: Apache-2.0
// A thread with the bytes of its command, so that it outlives what it was copied from. A value like any other. A mere ThreadInfo
// that is copied from it points into it.
#pragma once

#include "op.hpp"

namespace fsr::shim {

class OwnThread : public ThreadInfo {
 public:
  OwnThread() = default;
  OwnThread(const ThreadInfo& like) : ThreadInfo(like) { keep(); }
  OwnThread(const OwnThread& like) : ThreadInfo(like) { keep(); }
  OwnThread& operator=(const OwnThread& like) {
    ThreadInfo::operator=(like);
    keep();
    return *this;
  }

 private:
  void keep() { command = {bytes_, command.copy(bytes_, sizeof bytes_)}; }

  char bytes_[15];
};

}  // namespace fsr::shim
