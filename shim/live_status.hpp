// SPDX-License-Identifier: Apache-2.0
// Shows the progress of a capture in one line on the terminal. Used by one thread. Prints nothing if stderr is not a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace fsr::shim {

class LiveStatus {
 public:
  LiveStatus();
  struct StatusSample {
    int64_t time = 0;  // ns since the start
    uint64_t operations = 0;
    uint64_t data_bytes = 0;
    uint64_t trace_bytes = 0;
    double ring_fill = 0;  // used part of the rings, 0 to 1
    bool recording = true;
  };
  bool due(int64_t time) const;
  void show(const StatusSample& now);
  void clear();  // call this before anything else is printed

 private:
  bool terminal_;
  bool shown_ = false;
  StatusSample last_;
};

}  // namespace fsr::shim
