// SPDX-License-Identifier: Apache-2.0
#include "util/canvas.hpp"

#include <algorithm>
#include <cmath>

#include "util/page_style.hpp"
#include "util/units.hpp"

namespace fsr {

constexpr int kNarrowTitle = 4;  // its left end, which leaves room for a long one
constexpr int kTitle = 22;       // its lower end
constexpr int kKey = 27;         // top of the key
constexpr int kLine = 16;
constexpr int kBelowKey = 13;      // from the top of its last line
constexpr double kTextBelow = 18;  // from the bottom to the base of the texts of its axis

// Returns where each character of UTF-8 begins.
static std::vector<size_t> character_starts(const std::string& text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if ((text[i] & 0xc0) != 0x80) starts.push_back(i);
  return starts;
}

std::string plain_text(double n) { return fmt::format("{:.6g}", n); }
std::string duration_text(double ns) {
  std::string text = ns == 0 ? "0 s" : format_duration(int64_t(std::llround(ns)));
  // A mark of an axis is "10 ms" and not "10.0 ms".
  if (const size_t point = text.find('.'), space = text.find(' '); point < space && space != text.npos) {
    const size_t last = text.find_last_not_of('0', space - 1);
    text.erase(last == point ? point : last + 1, space - (last == point ? point : last + 1));
  }
  return text;
}
std::string log_time_text(double ns) {
  constexpr double kLong = 1e11;
  return ns < kLong ? duration_text(ns) : count_text(ns / 1e9) + " s";
}
std::string size_text(double bytes) { return format_size(uint64_t(std::llround(bytes))); }
std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string count_text(double n) {
  return n >= 100 || n == std::floor(n) ? format_count(uint64_t(std::llround(n))) : fmt::format("{:.2f}", n);
}

static std::string text_at(double x, double y, const std::string& escaped) {
  return fmt::format("<text x=\"{:.4g}\" y=\"{:.4g}\">{}</text>\n", x, y, escaped);
}

static std::string with_entities(std::string_view escaped) {
  std::string out;
  constexpr std::string_view kSpecial = "<>&\"'", kEntities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
  for (char c : escaped) {
    const size_t at = kSpecial.find(c);
    if (at == kSpecial.npos)
      out += c;
    else
      out += kEntities[at];
  }
  return out;
}

std::string xml_text(std::string_view bytes) { return with_entities(escape_text(bytes)); }

std::string xml_lines(std::string_view bytes) {
  std::string out;
  for (size_t end; (end = bytes.find('\n')) != bytes.npos; bytes.remove_prefix(end + 1)) {
    out += xml_text(bytes.substr(0, end));
    out += '\n';
  }
  return out + xml_text(bytes);
}

std::string shortened(const std::string& text, size_t most) {
  const std::vector<size_t> starts = character_starts(text);
  if (starts.size() <= most) return text;
  return text.substr(0, starts[most / 2]) + "…" + text.substr(starts[starts.size() - (most - 1) / 2]);
}

std::string xml_shortened(std::string_view bytes, size_t most) { return with_entities(shortened(escape_text(bytes), most)); }

Canvas::Canvas(int width, std::string_view title, bool over_time, bool titled)
    : width_(width),
      right_(!over_time ? kRight
             : narrow() ? kNearby
                        : kBeside),
      begin_(titled ? 0 : kTitle),
      title_(xml_text(title)) {
  if (titled) put("<text x=\"{}\" y=\"20\" font-size=\"15\">{}</text>\n", narrow() ? kNarrowTitle : left(), title_);
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

void Canvas::tick_x(double x, std::string_view text, bool line) {
  if (line) grid_ += fmt::format("M{:.4g} {:.0f}V{:.0f}", x, top_, bottom_);
  const bool cut = x + kCharacter * double(text.size()) / 2 > width_;  // in the middle of its tick
  (cut ? end_ : middle_) += text_at(cut ? width_ - 1 : x, bottom_ + kTextBelow, xml_text(text));
}

void Canvas::tick_y(double y, std::string_view text) {
  if (y < bottom_ - 0.01)
    grid_ += fmt::format("M{} {:.1f}H{}", left(), y, right());
  else
    axis(y);
  end_ += text_at(left() - 8, y + 4, xml_text(text));
}

void Canvas::axis(double y) { put("<path class=\"axis\" d=\"M{} {:.1f}H{}\"/>\n", left(), y, right()); }

void Canvas::label_x(std::string_view text, double y) { middle_ += text_at((left() + right()) / 2, y, xml_text(text)); }

void Canvas::label_y(std::string_view text) {
  if (narrow()) return;  // the title has to tell
  middle_ +=
      fmt::format("<text transform=\"translate(14 {:.0f}) rotate(-90)\">{}</text>\n", (top_ + bottom_) / 2, xml_text(text));
}

void Canvas::hit(double from, double to, std::string_view text) {
  to = std::max(to, from + 1);
  hits_ += fmt::format("<path d=\"M{0:.0f} {1:.0f}H{2:.0f}V{3:.0f}H{0:.0f}z\"><title>{4}</title></path>\n", from, top_, to,
                       bottom_, xml_lines(text));
}

void Canvas::row(double y, const std::string& name) {
  end_ += text_at(left() - 8, y + 4, xml_shortened(name, size_t((left() - 8) / kCharacter)));
}

}  // namespace fsr
