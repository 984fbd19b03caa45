// SPDX-License-Identifier: Apache-2.0
// Writes distributions in the formats of HdrHistogram (hdrhistogram.org), which its viewers open. A .hgrm file has the
// percentiles of one distribution as text, in milliseconds. A .hlog file has the whole histograms of several, in nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

std::string hgrm_text(const Histogram& histogram);

// One line of a log.
struct HdrLine {
  std::string tag;              // without commas and spaces
  double from = 0, length = 0;  // seconds since the log's start
  Histogram histogram;
};
// `start_ns`: start of the log, ns since the Unix epoch. `comments`: one line each.
std::string hlog_text(int64_t start_ns, const std::vector<std::string>& comments, const std::vector<HdrLine>& lines);

// Returns one histogram as a log has it: encoding V2, deflated, in base 64.
std::string hdr_encoded(const Histogram& histogram);

}  // namespace fsr
