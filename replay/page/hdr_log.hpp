// SPDX-License-Identifier: Apache-2.0
// Distributions in the formats of HdrHistogram (hdrhistogram.org), which its viewers open: .hgrm, the percentiles of one as text,
// and .hlog, the whole histograms of several. Values are milliseconds in the former and nanoseconds in the latter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/histogram.hpp"

namespace fsr {

std::string hgrm_text(const Histogram& histogram);

// A line of a log.
struct HdrLine {
  std::string tag;              // without commas and spaces
  double from = 0, length = 0;  // seconds since the log's start
  Histogram histogram;
};
// `start_ns`: since the Unix epoch. `comments`: a line each.
std::string hlog_text(int64_t start_ns, const std::vector<std::string>& comments, const std::vector<HdrLine>& lines);

// One histogram as the log has it: encoding V2, deflated, in base 64.
std::string hdr_encoded(const Histogram& histogram);

}  // namespace fsr
