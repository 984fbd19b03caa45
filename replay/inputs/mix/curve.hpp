// SPDX-License-Identifier: Apache-2.0
// Load against response: one point for each load of a ramp, as a table and as a drawing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr {

struct MixResult;
struct Report;

struct CurvePoint {
  double asked = 0, achieved = 0;  // calls a second; asked 0: as fast as possible
  uint64_t calls = 0;
  int64_t mean = 0, p50 = 0, p90 = 0, p99 = 0;          // response, ns: from the planned time
  std::string mean_text, p50_text, p90_text, p99_text;  // the same for people: "> 8 ms" if it is a lower bound
  double deviation = 0;                                 // of the mix, percent in total
  std::string limit;                                    // in words
  int status = 0;                                       // as an exit status
};

CurvePoint curve_point(const Report& report, const MixResult& mix);
std::string curve_text(const CurvePoint& point, bool headings);  // a line of the table
// Mean and 99th percentile of the response over the achieved load. One document, ends in a newline.
std::string curve_svg(const std::vector<CurvePoint>& curve, const std::string& title);

}  // namespace fsr
