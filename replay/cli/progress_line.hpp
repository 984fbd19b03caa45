// SPDX-License-Identifier: Apache-2.0
// The status line of a running replay. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "report/time_series.hpp"
#include "util/status_line.hpp"

namespace fsr {

class ProgressLine : public StatusLine {
 public:
  using StatusLine::StatusLine;
  // What replays, where it is a part of all: "rank 0".
  void name(const std::string& who) { who_ = who; }
  // `intervals`: the latest one's latencies are shown. `span` is what there is to replay, in replay time (0: not known).
  void replay(const Progress& now, const std::vector<SeriesInterval>& intervals, int64_t span, uint64_t operations);

 private:
  std::string who_ = "replay";
  Progress last_;
};

}  // namespace fsr
