// SPDX-License-Identifier: Apache-2.0
// The SVG element of a drawing, with a title, a key, axes, and texts that appear under the pointer. Units are those of the
// drawing. Use from one thread.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/page_text.hpp"

namespace fsr {

// An axis from `low` to `high`, with a tick at each multiple of `step`, or at each power of it on a logarithmic axis.
struct Axis {
  double low = 0, high = 1, step = 1;  // step 0: no ticks
  bool log = false;
  NumberText text = plain_text;  // of a tick
  std::string label = {};
  double share(double v) const { return log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low); }
};

class Canvas {
 public:
  static constexpr int kRight = 20;                 // margin
  static constexpr int kBeside = 76, kNearby = 44;  // the same of drawings over time, wide and narrow; heat maps have bars there
  static constexpr int kCharacter = 7;              // width, about

  // `over_time`: the drawing has the margins that all drawings over time share. `titled`: false: only screen readers get the
  // title.
  Canvas(int width, std::string_view title, bool over_time = false, bool titled = true);

  struct KeyEntry {
    std::string css_class, text;
    bool thin = false;
  };
  // Writes a key below the title, in as many lines as it needs. Returns their lower end.
  int key(const std::vector<KeyEntry>& entries);

  // Sets the axes, and where the vertical one begins and ends.
  void set_axes(Axis x, Axis y, double top, double bottom) {
    x_ = std::move(x), y_ = std::move(y);
    top_ = top, bottom_ = bottom;
  }
  // Draws them. `lines`: at the ticks of x, too. `label_y`: of the label of x.
  void draw_axes(bool lines, double label_y);
  double x(double value) const { return left() + x_.share(value) * (right() - left()); }
  double y(double value) const { return bottom_ - y_.share(value) * (bottom_ - top_); }
  void middle_text(double y, std::string_view text);
  // Adds a text that appears while the pointer rests between `from` and `to`.
  void hit(double from, double to, std::string_view text);
  // Writes as much of the name of a row as there is room for. `y`: its middle.
  void row(double y, const std::string& name);

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }
  // `standalone`: one SVG document that ends in a newline, else an element with a role and a label for screen readers.
  std::string finish(double height, bool standalone = false) const;

  bool narrow() const { return width_ < 500; }  // a drawing for a phone has room for few words and ticks
  // All drawings of one width begin at the same place, and those over time end at one, so that times stand under each other.
  int left() const { return narrow() ? 62 : 90; }
  int right() const { return width_ - right_; }

 protected:
  Axis x_, y_;
  double top_ = 0, bottom_ = 0;

 private:
  const int width_, right_, begin_;  // begin_: upper end
  const std::string title_;          // escaped
  std::string svg_, grid_, hits_;    // grid_: the lines of a path
  std::string middle_, end_;         // texts by what of them is at their place
};

}  // namespace fsr
