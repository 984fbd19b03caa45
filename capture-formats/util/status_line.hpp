// SPDX-License-Identifier: Apache-2.0
// Prints progress on stderr, on one line that is overwritten. If stderr is not a terminal: nothing, or a line at
// every interval that the user asked for. One thread.
#pragma once

#include <cstdint>
#include <string>

namespace fsr {

class StatusLine {
 public:
  // `interval`: ns between lines if stderr is not a terminal; 0: no lines.
  explicit StatusLine(bool quiet, int64_t interval = 0);
  ~StatusLine();  // clears the line

  void show(const std::string& text);
  // Prints "label  [#####.....]  42 %  left 12 s", from `done` of `total`; at most ten times a second.
  void bar(const char* label, uint64_t done, uint64_t total);
  void clear();

 protected:
  // True if the next text would be printed.
  bool due() const;

 private:
  const bool terminal_, enabled_;
  const int64_t interval_;
  bool shown_ = false;
  std::string bar_;  // label of the latest
  // ns, monotonic clock
  int64_t bar_begun_ = 0, last_bar_ = 0, last_line_ = 0;
};

}  // namespace fsr
