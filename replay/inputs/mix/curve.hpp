// SPDX-License-Identifier: Apache-2.0
// Response over load, with one point for each load of a ramp, as a table and as a drawing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fsr {

struct MixResult;
struct Report;

struct CurvePoint {
  double asked = 0, achieved = 0;  // calls per second; asked 0: as fast as possible
  uint64_t calls = 0;
  int64_t mean = 0, p50 = 0, p90 = 0, p99 = 0;          // response from the due time, ns
  std::string mean_text, p50_text, p90_text, p99_text;  // the same as text: "> 8 ms" if it is a lower bound
  double deviation = 0;                                 // of the issued mix from the requested one, percent in total
  std::string limit;                                    // what limited the run, in words
  int status = 0;                                       // exit status of this load
};

CurvePoint curve_point(const Report& report, const MixResult& mix);
std::string curve_text(const CurvePoint& point, bool headings);  // one line of the table
// Draws mean and 99th percentile of the response over the achieved load. Returns one SVG document, which ends in a newline.
std::string curve_svg(const std::vector<CurvePoint>& curve, const std::string& title);

}  // namespace fsr
