// SPDX-License-Identifier: Apache-2.0
// One line on stderr that is overwritten in place; nothing at all when stderr is no terminal. One thread.
#pragma once

#include <cstdint>
#include <string>

namespace fsr {

class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  ~StatusLine();  // clears the line

  void show(const std::string& text);
  // "label  [#####.....]  42 %", from done of total; at most ten times a second.
  void bar(const char* label, uint64_t done, uint64_t total);
  void clear();

 protected:
  const bool enabled_;

 private:
  bool shown_ = false;
  int64_t last_bar_ = INT64_MIN;  // ns, monotonic clock
};

}  // namespace fsr
