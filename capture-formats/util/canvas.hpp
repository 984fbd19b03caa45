// SPDX-License-Identifier: Apache-2.0
// The SVG element of a drawing, with its title, a key, axes, and texts that appear under the pointer; and texts of drawings and
// pages. Units are those of the drawing. Use from one thread.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fsr {

// Return a number as an axis or a point of a chart has it.
using NumberText = std::function<std::string(double)>;
std::string plain_text(double n);  // six digits
std::string duration_text(double ns);
std::string log_time_text(double ns);  // for logarithmic axes: in seconds from 100 s on, as their marks are powers of ten
std::string size_text(double bytes);
std::string count_text(double n);  // "1,234"; with decimals if `n` is small
std::string percent_text(double share);

// Any bytes as text of XML or HTML: control bytes and what is not UTF-8 as \xHH.
std::string xml_text(std::string_view bytes);
std::string xml_lines(std::string_view bytes);  // newlines stay
// Returns a text of at most `most` characters: a longer one without its middle, in whose place is a mark.
std::string shortened(const std::string& text, size_t most);
std::string xml_shortened(std::string_view bytes, size_t most);  // the same of what xml_text() shows

class Canvas {
 public:
  static constexpr int kRight = 20;                 // margin
  static constexpr int kBeside = 76, kNearby = 44;  // the same of drawings over time, wide and narrow; heat maps have bars there
  static constexpr int kCharacter = 7;              // width, about

  // A drawing for a phone has room for few words and ticks.
  static bool is_narrow(int width) { return width < 500; }

  // `over_time`: the drawing has the margins that all drawings over time share. `titled`: false: only screen readers get the
  // title.
  Canvas(int width, std::string_view title, bool over_time = false, bool titled = true);

  struct KeyEntry {
    std::string css_class, text;
    bool thin = false;
  };
  // Writes a key below the title, in as many lines as it needs. Returns their lower end.
  int key(const std::vector<KeyEntry>& entries);

  void frame(double top, double bottom) { top_ = top, bottom_ = bottom; }  // of the axes and hits that follow
  void tick_x(double x, std::string_view text, bool line);
  void tick_y(double y, std::string_view text);
  void axis(double y);
  void label_x(std::string_view text, double y);
  void label_y(std::string_view text);
  // Adds a text that appears while the pointer rests between `from` and `to`.
  void hit(double from, double to, std::string_view text);
  void row(double y, const std::string& name);  // its middle; writes as much of the name as there is room for

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }
  // `standalone`: one SVG document that ends in a newline, else an element with a role and a label for screen readers.
  std::string finish(double height, bool standalone = false) const;

  bool narrow() const { return is_narrow(width_); }
  // All drawings of one width begin at the same place, and those over time end at one, so that times stand under each other.
  int left() const { return narrow() ? 62 : 90; }
  int right() const { return width_ - right_; }

 private:
  const int width_, right_, begin_;  // begin_: upper end
  const std::string title_;          // escaped
  double top_ = 0, bottom_ = 0;
  std::string svg_, grid_, hits_;  // grid_: the lines of a path
  std::string middle_, end_;       // texts by what of them is at their place
};

}  // namespace fsr
