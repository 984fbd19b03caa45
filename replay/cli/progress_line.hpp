// SPDX-License-Identifier: Apache-2.0
// One line on stderr that is overwritten in place; nothing at all when stderr is no terminal. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "engine/run.hpp"

namespace fsr {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();  // clears the line

  void show(const std::string& text);
  // "label  [#####.....]  42 %", from done of total.
  void bar(const char* label, uint64_t done, uint64_t total);
  // Of a running replay; `span` is what there is to replay, in replay time (0: not known).
  void replay(const Progress& now, int64_t span, uint64_t operations);
  void clear();

 private:
  bool enabled_, shown_ = false;
  Progress last_;
};

}  // namespace fsr
