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
  // Sets the first word of the line, for example "rank 0" for one of several ranks.
  void name(const std::string& who) { who_ = who; }
  // Shows the progress. `latest`: the interval whose latencies are shown. `span`: length of the replay, ns; 0: not known.
  // `operations`: their number; 0: not known.
  void replay(const Progress& now, const SeriesInterval& latest, int64_t span, uint64_t operations);

 private:
  std::string who_ = "replay";
  Progress last_;
};

}  // namespace fsr
