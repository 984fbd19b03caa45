// SPDX-License-Identifier: Apache-2.0
// Draws charts and heat maps. Units are those of the drawing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "util/chart.hpp"
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

// An axis from `low` to `high`, with a tick at each multiple of `step`, or at each power of it on a logarithmic axis.
struct Axis {
  double low = 0, high = 1, step = 1;  // step 0: no ticks
  bool log = false;
  NumberText text = plain_text;  // of a tick
  std::string label = {};
  double share(double v) const { return log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low); }
};

std::vector<double> ticks_of(const Axis& axis) {
  const auto place = [&axis](double v) { return axis.log ? std::log(v) / std::log(axis.step) : v / axis.step; };
  std::vector<double> ticks;
  if (axis.step > 0)
    for (long i = std::lround(std::ceil(place(axis.low) - 1e-9)); double(i) <= place(axis.high) + 1e-9; ++i)
      ticks.push_back(axis.log ? std::pow(axis.step, i) : double(i) * axis.step);
  return ticks;
}

// An SVG element with a title, a key, axes, and texts that appear under the pointer.
class Canvas {
 public:
  static constexpr int kRight = 20;                 // margin
  static constexpr int kBeside = 76, kNearby = 44;  // the same of drawings over time, wide and narrow; heat maps have bars there
  static constexpr int kCharacter = 7;              // width, about

  // `over_time`: the drawing has the margins that all drawings over time share. `titled`: false: only screen readers get the
  // title.
  Canvas(int width, std::string_view title, bool over_time = false, bool titled = true)
      : width_(width),
        right_(!over_time ? kRight
               : narrow() ? kNearby
                          : kBeside),
        begin_(titled ? 0 : kTitle),
        title_(xml_text(title)) {
    if (titled) put("<text x=\"{}\" y=\"20\" font-size=\"15\">{}</text>\n", narrow() ? kNarrowTitle : left(), title_);
  }

  struct KeyEntry {
    std::string css_class, text;
    bool thin = false;
  };
  // Writes a key below the title, in as many lines as it needs. Returns their lower end.
  int key(const std::vector<KeyEntry>& entries) {
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

  // Sets the axes, and where the vertical one begins and ends.
  void set_axes(Axis x, Axis y, double top, double bottom) {
    x_ = std::move(x), y_ = std::move(y);
    top_ = top, bottom_ = bottom;
  }
  // Draws them. `lines`: at the ticks of x, too. `label_y`: of the label of x.
  void draw_axes(bool lines, double label_y) {
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
  double x(double value) const { return left() + x_.share(value) * (right() - left()); }
  double y(double value) const { return bottom_ - y_.share(value) * (bottom_ - top_); }
  void middle_text(double y, std::string_view text) { middle_ += text_at((left() + right()) / 2, y, xml_text(text)); }
  // Adds a text that appears while the pointer rests between `from` and `to`.
  void hit(double from, double to, std::string_view text) {
    to = std::max(to, from + 1);
    hits_ += fmt::format("<path d=\"M{0:.0f} {1:.0f}H{2:.0f}V{3:.0f}H{0:.0f}z\"><title>{4}</title></path>\n", from, top_, to,
                         bottom_, xml_lines(text));
  }
  // Writes as much of the name of a row as there is room for. `y`: its middle.
  void row(double y, const std::string& name) {
    end_ += text_at(left() - 8, y + 4, xml_shortened(name, size_t((left() - 8) / kCharacter)));
  }

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }
  // `standalone`: one SVG document that ends in a newline, else an element with a role and a label for screen readers.
  std::string finish(double height, bool standalone = false) const {
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

constexpr int kTop = 40, kBottom = 52;  // of the axes: their upper end without a key, and the room below them
constexpr double kHit = 24;             // units that a pointer finds
constexpr double kEmptyAxis = 5;        // its end if all values are 0: its ticks have different texts
constexpr size_t kDotted = 60;          // points of a line, at most, each of which has a dot

double step_of(double most, int ticks, bool binary) {
  return binary ? std::exp2(std::ceil(std::log2(most / ticks))) : round_step(most, ticks);
}

// Returns the chart with values that its axes can have, whatever a damaged file says.
Chart drawable(Chart chart) {
  constexpr double kLeast = 1e-9, kMost = 1e300;  // the least one of a logarithmic axis
  for (ChartSeries& s : chart.series)
    for (ChartPoint& p : s.points) {
      p.x = std::isnan(p.x) ? 0 : std::clamp(p.x, chart.log_x ? kLeast : -kMost, kMost);
      if (chart.log_x) p.x = std::max(p.x, kLeast);
      if (!(std::abs(p.y) <= kMost)) p.y = kGap;
      if (chart.log_y && p.y > 0) p.y = std::max(p.y, kLeast);
    }
  return chart;
}

class Drawing : Canvas {
 public:
  explicit Drawing(const Chart& given) : Canvas(given.width, given.title, given.time_x, given.titled), chart_(drawable(given)) {
    double from = HUGE_VAL, to = -HUGE_VAL, least = HUGE_VAL, most = 0;  // least: above 0
    for (const ChartSeries& s : chart_.series)
      for (const ChartPoint& p : s.points) {
        from = std::min(from, p.x);
        to = std::max(to, p.x);
        if (is_gap(p)) continue;
        any_ = true;
        most = std::max(most, p.y);
        if (p.y > 0) least = std::min(least, p.y);
      }
    if (!any_) return;
    x_ = chart_.log_x ? log_x_axis(from, to) : x_axis(std::min(from, 0.0), to);
    y_ = chart_.log_y ? log_y_axis(least < HUGE_VAL ? least : 1, most) : y_axis(std::max(most, chart_.least_y));
    x_.text = chart_.x_text, x_.label = chart_.x_label;
    y_.text = chart_.y_text, y_.label = chart_.y_label;
  }

  std::string draw(bool standalone) {
    std::vector<KeyEntry> entries;
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      const ChartSeries& series = chart_.series[i];
      entries.push_back({fmt::format("s{}", colour(i)), series.key.empty() ? series.name : series.key, series.thin});
    }
    top_ = entries.size() > 1 ? key(entries) : kTop;
    bottom_ = chart_.height - kBottom;
    if (any_) {
      draw_axes(true, chart_.height - 10);
      for (size_t i = 0; i < chart_.series.size(); ++i) chart_.style == ChartStyle::columns ? columns(i) : lines(i);
      if (!narrow()) hits();
    } else {
      middle_text((top_ + bottom_) / 2, "no values");
    }
    return finish(chart_.height, standalone);
  }

 private:
  Axis x_axis(double low, double high) const {
    const double length = std::max(high - low, 1e-9);
    const int ticks = narrow() ? 3 : 8;
    const double step = chart_.time_x ? round_seconds(length, ticks) : step_of(length, ticks, chart_.binary_x);
    high = std::max(high, low + 1e-9);
    return {low, chart_.style == ChartStyle::lines ? std::ceil(high / step) * step : high, step};
  }
  Axis log_x_axis(double low, double high) const {
    high = std::max(high, low * 10);
    double factor = chart_.binary_x ? 16 : 10;
    while (std::log(high / low) / std::log(factor) > (narrow() ? 4 : 12)) factor *= factor;
    return {low, high, factor, true};
  }
  Axis y_axis(double most) const {
    if (most <= 0) most = kEmptyAxis;
    const double step = step_of(most, 5, chart_.binary_y);
    return {0, std::ceil(most / step - 1e-9) * step, step};
  }
  static Axis log_y_axis(double least, double most) {  // whole decades
    const double low = std::pow(10, std::floor(std::log10(least) + 1e-9));
    return {low, std::max(low * 10, std::pow(10, std::ceil(std::log10(std::max(most, low)) - 1e-9))), 10, true};
  }

  int colour(size_t number) const { return chart_.series[number].colour < 0 ? int(number) : chart_.series[number].colour; }

  // Draws columns on those of the series before.
  void columns(size_t number) {
    const std::vector<ChartPoint>& points = chart_.series[number].points;
    std::string path;
    for (size_t i = 0; i + 1 < points.size(); ++i) {
      double base = 0;
      for (size_t below = 0; below < number; ++below) base += chart_.series[below].points[i].y;
      const double left = x(points[i].x), low = y(base), width = std::max(0.5, x(points[i + 1].x) - left - 0.5);
      if (points[i].y > 0)
        path += fmt::format("M{:.4g} {:.4g}h{:.4g}V{:.4g}h-{:.4g}z", left, low, width, y(base + points[i].y), width);
    }
    put("<path class=\"c s{}\" d=\"{}\"/>\n", colour(number), path);
  }

  // Draws the points between two gaps as one line, and a point alone as a dot.
  void lines(size_t number) {
    const ChartSeries& series = chart_.series[number];
    const bool steps = chart_.style == ChartStyle::areas;
    const double unit = steps ? 1 : 0.1;  // of rounded places; it would bend the slopes that steps have not
    auto rounded = [unit](double at) { return std::round(at / unit) * unit; };
    // Returns the height of a point; none: a gap, as is a zero on a logarithmic axis.
    auto height = [&](size_t i) -> std::optional<double> {
      const double value = i < series.points.size() ? series.points[i].y : kGap;
      if (std::isnan(value) || (chart_.log_y && value <= 0)) return std::nullopt;
      return rounded(y(value));
    };
    std::string line, areas;
    size_t part = 0;             // where the last part of `line` begins
    double begin = 0, at = 0;    // x of its begin, and of its end
    std::optional<double> last;  // its height at the end; none: it has ended
    for (size_t i = 0; i < series.points.size(); ++i) {
      const double here = rounded(x(series.points[i].x));
      const std::optional<double> high = height(i);
      if (!last && high)
        part = line.size(), begin = at = here, line += fmt::format("M{:g} {:g}", here, *high);
      else if (steps && high != last)
        line += (here > at || !high ? fmt::format("h{:g}", here - at) : "") + (high ? fmt::format("v{:g}", *high - *last) : ""),
            at = here;
      else if (high && !steps)
        line += fmt::format("l{:g} {:g}", here - at, *high - *last), at = here;
      if (!high && last && series.filled) areas += line.substr(part) + fmt::format("V{:.0f}H{:g}z", bottom_, begin);
      if (!steps && high && (series.points.size() <= kDotted || (!last && !height(i + 1))))
        dot(series, colour(number), here, *high);
      last = high;
    }
    if (!areas.empty()) put("<path class=\"s{} fill\" d=\"{}\"/>\n", colour(number), areas);
    if (!line.empty()) put("<path class=\"l s{}{}\" d=\"{}\"/>\n", colour(number), series.thin ? " thin" : "", line);
  }

  void dot(const ChartSeries& series, int colour, double x, double y) {
    const int radius = series.thin ? 2 : 3;
    if (series.square)
      put("<path class=\"s{0}\" d=\"M{1:g} {2:g}m-{3} -{3}h{4}v{4}h-{4}z\"/>\n", colour, x, y, radius, 2 * radius);
    else
      put("<circle cx=\"{:g}\" cy=\"{:g}\" r=\"{}\" class=\"s{}\"/>\n", x, y, radius, colour);
  }

  // Adds a text for each stretch that a pointer finds, with the values of all series there, from the least to the highest.
  void hits() {
    struct Stretch {
      double from = HUGE_VAL, to = -HUGE_VAL;
      std::vector<std::pair<double, double>> values = {};  // of each series, the least and the highest
    };
    std::map<int, Stretch> stretches;
    const bool spans = chart_.style != ChartStyle::lines;  // the last point only ends the value before
    for (size_t number = 0; number < chart_.series.size(); ++number) {
      const std::vector<ChartPoint>& points = chart_.series[number].points;
      for (size_t i = 0; i + (spans ? 1 : 0) < points.size(); ++i) {
        Stretch& its = stretches[int((x(points[i].x) - left()) / kHit)];
        its.from = std::min(its.from, points[i].x);
        its.to = std::max(its.to, points[i + (spans ? 1 : 0)].x);
        its.values.resize(chart_.series.size(), {HUGE_VAL, -HUGE_VAL});
        auto& [low, high] = its.values[number];
        if (!is_gap(points[i])) low = std::min(low, points[i].y), high = std::max(high, points[i].y);
      }
    }
    double before = -HUGE_VAL;  // the end of the stretch before
    for (auto at = stretches.begin(); at != stretches.end(); ++at) {
      const Stretch& its = at->second;
      const auto next = std::next(at);
      const double beside = spans ? 0 : kHit / 2;  // of a point, at most half-way to the next one
      const double from = x(its.from), to = x(its.to), after = next == stretches.end() ? HUGE_VAL : x(next->second.from);
      const double left = std::max(from - beside, (before + from) / 2), right = std::min(to + beside, (to + after) / 2);
      before = to;
      std::string text;
      for (size_t i = 0; i < its.values.size(); ++i) {
        const auto [low, high] = its.values[i];
        if (low > high) continue;
        const std::string least = chart_.y_text(low), most = chart_.y_text(high), name = chart_.series[i].name;
        text += "\n" + (name.empty() ? "" : name + ": ") + least + (most == least ? "" : " to " + most);
      }
      if (text.empty()) continue;  // a gap
      hit(spans ? from : left, spans ? to : right,
          chart_.x_text(its.from) + (its.to > its.from ? " to " + chart_.x_text(its.to) : "") + text);
    }
  }

  const Chart chart_;
  bool any_ = false;  // a point has a value
};

constexpr size_t kClasses = 6;                                   // of counts, each with a colour
constexpr int kTicks = 8, kFewTicks = 3;                         // of the time
constexpr double kBucket = 9, kNamedField = 12, kNamedRow = 14;  // heights; kNamedRow: from one to the next
constexpr int kAbove = 12, kBelow = 40;
constexpr int kMargin = 6;
constexpr double kLastTime = 9e9;  // ns of the last mark that is a time

double seconds_of(const HeatMap& map) { return std::max(map.end, 1e-9); }

// Returns the count with which a class begins: most^(1/6) times that of the class before.
double begin_of(size_t number, uint64_t most) { return std::pow(double(std::max<uint64_t>(most, 2)), double(number) / kClasses); }

int write_key(Canvas& canvas, uint64_t most) {
  std::vector<Canvas::KeyEntry> entries;
  for (size_t i = 0; i < kClasses; ++i) {
    const std::string text = count_text(std::ceil(begin_of(i, most)));
    if (i + 1 == kClasses || text != count_text(std::ceil(begin_of(i + 1, most))))  // else no count has this class
      entries.push_back({fmt::format("h{}", i), text});
  }
  entries.back().text += " or more";
  return canvas.key(entries);
}

// Writes the fields of each class as a path, whose unit is a column. `middle`: returns y of a row.
void write_fields(Canvas& canvas, const HeatMap& map, double height, const std::function<double(int)>& middle) {
  struct Path {
    std::string d;
    int row = -1, column = 0;  // where it ends
  };
  std::array<Path, kClasses> paths;
  auto class_of = [&map](uint64_t count) {
    size_t number = 0;
    while (number + 1 < kClasses && double(count) >= begin_of(number + 1, map.most)) ++number;
    return number;
  };
  const double columns = seconds_of(map) / map.stretch;
  for (size_t i = 0, next = 0; i < map.cells.size(); i = next) {
    const HeatMap::Cell& from = map.cells[i];
    const size_t number = class_of(from.count);
    auto goes_on = [&](const HeatMap::Cell& cell) {  // fields beside each other are one
      return cell.bucket == from.bucket && cell.column == from.column + int(next - i) && class_of(cell.count) == number;
    };
    for (next = i + 1; next < map.cells.size() && goes_on(map.cells[next]);) ++next;
    Path& path = paths[number];
    path.d += path.row == from.bucket ? fmt::format("m{} 0", from.column - path.column)
                                      : fmt::format("M{} {:g}", from.column, middle(from.bucket));
    path.row = from.bucket, path.column = from.column + int(next - i);
    // Half a column stands for a field that begins at the very end.
    path.d += fmt::format("h{:.4g}", std::max(0.5, std::min<double>(path.column, columns) - from.column));
  }
  canvas.put("<g transform=\"translate({} 0) scale({:.5f} 1)\" stroke-width=\"{:.0f}\" shape-rendering=\"crispEdges\">",
             canvas.left(), (canvas.right() - canvas.left()) / columns, height);
  for (size_t i = 0; i < kClasses; ++i)
    if (!paths[i].d.empty()) canvas.put("<path class=\"h{}\" d=\"{}\"/>", i, paths[i].d);
  canvas.put("</g>\n");
}

}  // namespace

std::string heat_map_svg(const HeatMap& map) {
  const bool named = !map.names.empty();
  const double row = named ? kNamedRow : kBucket, height = named ? kNamedField : kBucket;
  Canvas canvas(map.width, map.title, true);
  const double top = write_key(canvas, map.most) + (named ? 0 : kAbove);
  const double bottom = top + row * (named ? double(map.names.size()) : map.last + 1 - map.first);
  auto middle = [&](int number) { return named ? top + row * number + height / 2 : bottom - row * (number - map.first + 0.5); };
  auto time_text = [](double ns) { return ns > kLastTime ? "more" : log_time_text(ns); };
  auto time_of = [](int bucket) { return std::pow(10, bucket / HeatMap::kPerDecade); };
  const double end = seconds_of(map);
  canvas.set_axes({.high = end,
                   .step = round_seconds(end, canvas.narrow() ? kFewTicks : kTicks),
                   .text = [](double seconds) { return duration_text(seconds * 1e9); },
                   .label = map.x_label},
                  named ? Axis{.step = 0} : Axis{time_of(map.first), time_of(map.last + 1), 10, true, time_text}, top, bottom);
  write_fields(canvas, map, height, middle);
  for (size_t i = 0; i < map.names.size(); ++i) canvas.row(middle(int(i)), map.names[i]);
  if (!named) {
    const auto [rows, sum] = map.row_sums();
    const double room = (map.width - canvas.right() - 2 * kMargin) / double(sum) / map.most_share;
    std::string shares;
    for (int bucket = map.first; bucket <= map.last; ++bucket)
      if (const uint64_t count = rows[size_t(bucket)])
        shares += fmt::format("M{} {:.0f}h{:.1f}", canvas.right() + kMargin, middle(bucket), std::max(0.5, room * double(count)));
    canvas.put("<path class=\"s{}\" stroke-width=\"{}\" d=\"{}\"/>\n", map.colour, kBucket - 2, shares);
  }
  canvas.draw_axes(false, bottom + 34);
  return canvas.finish(bottom + kBelow);
}

double round_step(double most, int ticks) {
  const double rough = most / ticks, power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

double round_seconds(double most, int ticks) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 24 * kHour;
  if (most / ticks <= 10) return round_step(most, ticks);
  for (double step : {kMinute / 4, kMinute / 2, kMinute, 2 * kMinute, 5 * kMinute, 10 * kMinute, 20 * kMinute, kHour / 2, kHour,
                      2 * kHour, 4 * kHour, kDay / 2})
    if (step >= most / ticks) return step;
  return std::max(1.0, round_step(most / kDay, ticks)) * kDay;
}

bool is_gap(const ChartPoint& point) { return std::isnan(point.y); }

void add_rows(const Chart& chart, size_t before, ChartRows& rows) {
  const bool spans = chart.style != ChartStyle::lines;  // the last point only ends the value before
  for (size_t number = 0; number < chart.series.size(); ++number) {
    const std::vector<ChartPoint>& points = chart.series[number].points;
    std::map<double, size_t> seen;
    for (size_t i = 0; i + (spans ? 1 : 0) < points.size(); ++i) {
      if (!spans && is_gap(points[i])) continue;  // nothing but the place where a line ends
      std::vector<std::string>& row = rows[{points[i].x, seen[points[i].x]++}];
      row.resize(before + chart.series.size());
      row[before + number] = is_gap(points[i]) ? "-" : chart.y_text(points[i].y);
    }
  }
}

std::string chart_svg(const Chart& chart) { return Drawing(chart).draw(false); }
std::string chart_file(const Chart& chart) { return Drawing(chart).draw(true); }

}  // namespace fsr
