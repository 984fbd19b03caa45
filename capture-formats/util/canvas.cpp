// SPDX-License-Identifier: Apache-2.0
#include "util/canvas.hpp"

#include <algorithm>

#include "util/units.hpp"

namespace fsr {

namespace {

constexpr int kNarrowTitle = 4;  // its left end, which leaves room for a long one
constexpr int kTitle = 22;       // its lower end
constexpr int kKey = 27;         // top of the key
constexpr int kLine = 16;
constexpr int kBelowKey = 13;      // from the top of its last line
constexpr double kTextBelow = 18;  // from the bottom to the base of the texts of its axis

std::string text_at(double x, double y, const std::string& escaped) {
  return fmt::format("<text x=\"{:.4g}\" y=\"{:.4g}\">{}</text>\n", x, y, escaped);
}

std::vector<double> ticks_of(const Axis& axis) {
  const auto place = [&axis](double v) { return axis.log ? std::log(v) / std::log(axis.step) : v / axis.step; };
  std::vector<double> ticks;
  if (axis.step > 0)
    for (long i = std::lround(std::ceil(place(axis.low) - 1e-9)); double(i) <= place(axis.high) + 1e-9; ++i)
      ticks.push_back(axis.log ? std::pow(axis.step, i) : double(i) * axis.step);
  return ticks;
}

}  // namespace

Canvas::Canvas(int width, std::string_view title, bool over_time, bool titled)
    : width_(width),
      right_(!over_time ? kRight
             : narrow() ? kNearby
                        : kBeside),
      begin_(titled ? 0 : kTitle),
      title_(xml_text(title)) {
  if (titled) put("<text x=\"{}\" y=\"20\" font-size=\"15\">{}</text>\n", narrow() ? kNarrowTitle : left(), title_);
}

int Canvas::key(const std::vector<KeyEntry>& entries) {
  int at = left(), top = kKey;
  for (const KeyEntry& entry : entries) {
    const int width = 26 + kCharacter * int(character_starts(escape_text(entry.text)).size());
    if (at > left() && at + width > right() + 12) at = left(), top += kLine;  // 12: between two entries
    const int height = entry.thin ? 3 : 10;                                   // as the line
    put("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"{}\" class=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n", at,
        top + (10 - height) / 2, height, entry.css_class, at + 14, top + 9, xml_text(entry.text));
    at += width;
  }
  return top + kBelowKey;
}

void Canvas::draw_axes(bool lines, double label_y) {
  for (double tick : ticks_of(x_)) {
    const std::string text = xml_text(x_.text(tick));
    if (lines) grid_ += fmt::format("M{:.4g} {:.0f}V{:.0f}", x(tick), top_, bottom_);
    const bool cut = x(tick) + kCharacter * double(text.size()) / 2 > width_;  // in the middle of its tick
    (cut ? end_ : middle_) += text_at(cut ? width_ - 1 : x(tick), bottom_ + kTextBelow, text);
  }
  for (double tick : ticks_of(y_)) {
    if (y(tick) < bottom_ - 0.01) grid_ += fmt::format("M{} {:.1f}H{}", left(), y(tick), right());
    end_ += text_at(left() - 8, y(tick) + 4, xml_text(y_.text(tick)));
  }
  put("<path class=\"axis\" d=\"M{} {:.1f}H{}\"/>\n", left(), bottom_, right());
  middle_text(label_y, x_.label);
  if (narrow() || y_.label.empty()) return;  // the title has to tell
  middle_ +=
      fmt::format("<text transform=\"translate(14 {:.0f}) rotate(-90)\">{}</text>\n", (top_ + bottom_) / 2, xml_text(y_.label));
}

void Canvas::middle_text(double y, std::string_view text) { middle_ += text_at((left() + right()) / 2, y, xml_text(text)); }

void Canvas::hit(double from, double to, std::string_view text) {
  to = std::max(to, from + 1);
  hits_ += fmt::format("<path d=\"M{0:.0f} {1:.0f}H{2:.0f}V{3:.0f}H{0:.0f}z\"><title>{4}</title></path>\n", from, top_, to,
                       bottom_, xml_lines(text));
}

void Canvas::row(double y, const std::string& name) {
  end_ += text_at(left() - 8, y + 4, xml_shortened(name, size_t((left() - 8) / kCharacter)));
}

std::string Canvas::finish(double height, bool standalone) const {
  const std::string drawn = (grid_.empty() ? "" : "<path class=\"grid\" d=\"" + grid_ + "\"/>\n") + svg_ +
                            "<g text-anchor=\"middle\">" + middle_ + "</g>\n<g text-anchor=\"end\">" + end_ + "</g>\n" +
                            (hits_.empty() ? "" : "<g class=\"hit\">" + hits_ + "</g>\n");
  if (!standalone)
    return fmt::format("<svg viewBox=\"0 {} {} {:.0f}\" role=\"img\" aria-label=\"{}\" font-size=\"12\">\n{}</svg>", begin_,
                       width_, height - begin_, title_, drawn);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n{2}<rect width=\"{0}\" height=\"{1:.0f}\" fill=\"white\"/>\n{3}</svg>\n",
      width_, height, kDrawingStyle, drawn);
}

}  // namespace fsr
