// SPDX-License-Identifier: Apache-2.0
// Fields of a drawing over time, whose colour tells how much is in them. Use from one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "util/canvas.hpp"

namespace fsr {

class TimeFields {
 public:
  // `end`: seconds at the right end, above 0. `most`: the highest count.
  TimeFields(Canvas& canvas, double end, uint64_t most) : canvas_(canvas), end_(end), most_(most) {}

  double x(double seconds) const { return canvas_.left() + seconds / end_ * (canvas_.right() - canvas_.left()); }
  int key();                                                                    // as Canvas::key()
  void add(double from, double to, double top, double height, uint64_t count);  // from, to: seconds; 0 is left out
  void write();                                                                 // all fields that were added
  void axis(double label_y);

 private:
  static constexpr int kClasses = 6;
  double begin_of(int number) const;
  int class_of(uint64_t count) const;

  Canvas& canvas_;
  const double end_;
  const uint64_t most_;
  std::array<std::string, kClasses> paths_;
};

}  // namespace fsr
