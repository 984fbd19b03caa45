// SPDX-License-Identifier: Apache-2.0
// The SVG element of a drawing, with its title, a key, axes, and texts that appear under the pointer. Units are those of the
// drawing. Use from one thread.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fsr {

class Canvas {
 public:
  static constexpr int kRight = 20;         // margin
  static constexpr double kTextBelow = 18;  // from the bottom to the base of the texts of its axis

  // A drawing for a phone has room for few words and ticks.
  static bool is_narrow(int width) { return width < 500; }
  // All drawings of one width begin at the same place, so that times stand under each other.
  static int left_of(int width) { return is_narrow(width) ? 62 : 90; }

  // `standalone`: one SVG document, else an element with a role and a label for screen readers.
  Canvas(int width, double height, std::string_view title, bool standalone);

  struct KeyEntry {
    std::string css_class, text;
    bool thin = false;
  };
  // Writes a key below the title, in as many lines as it needs. Returns their lower end.
  int key(const std::vector<KeyEntry>& entries);

  void frame(double top, double bottom) { top_ = top, bottom_ = bottom; }  // of the axes and hits that follow
  void tick_x(double x, std::string_view text, bool line);
  void tick_y(double y, std::string_view text);
  void label_x(std::string_view text, double y);
  void label_y(std::string_view text);
  // Adds a text that appears while the pointer rests between `from` and `to`. `text` is escaped already.
  void hit(double from, double to, std::string_view text);

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }
  std::string finish() const { return svg_ + (standalone_ ? "</svg>\n" : "</svg>"); }

  bool narrow() const { return is_narrow(width_); }
  int left() const { return left_of(width_); }
  int right() const { return width_ - kRight; }

 private:
  const int width_;
  const bool standalone_;
  double top_ = 0, bottom_ = 0;
  std::string svg_;
};

}  // namespace fsr
