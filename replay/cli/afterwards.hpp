// SPDX-License-Identifier: Apache-2.0
// Steps that follow a run. If one fails, that is reported on stderr, and the next ones run. One thread.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

namespace fsr {

class Afterwards {
 public:
  template <class Step>
  void run(Step step) {
    try {
      step();
    } catch (const std::runtime_error& e) {
      fail(e.what());
    }
  }
  void fail(const std::string& why) {
    fprintf(stderr, "fsreplay: %s\n", why.c_str());
    failed_ = true;
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

}  // namespace fsr
