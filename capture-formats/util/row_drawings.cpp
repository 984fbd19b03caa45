// SPDX-License-Identifier: Apache-2.0
#include "util/row_drawings.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "util/canvas.hpp"
#include "util/chart.hpp"
#include "util/time_fields.hpp"

namespace fsr {

namespace {

constexpr double kBar = 14, kLine = 20;  // heights of a bar, and from one to the next
constexpr double kField = 12, kFieldLine = 14;
constexpr double kCharacter = 7;  // width
constexpr int kBottom = 40, kMargin = 6;

// Writes the name of a line, as much of it as there is room for. `y`: its middle.
void write_name(Canvas& canvas, std::string_view name, double y) {
  const auto room = size_t((canvas.left() - 8) / kCharacter);
  const bool cut = name.size() > room;
  canvas.put("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}{}</text>\n", canvas.left() - 8, y + 4,
             xml_text(cut ? name.substr(0, room - 1) : name), cut ? "…" : "");
}

double sum_of(const StackedBars::Bar& bar) { return std::accumulate(bar.values.begin(), bar.values.end(), 0.0); }

}  // namespace

std::string stacked_bars_svg(const StackedBars& bars) {
  std::vector<Canvas::KeyEntry> key;
  for (size_t i = 0; i < bars.parts.size(); ++i) key.push_back({fmt::format("s{}", i), bars.parts[i]});
  double most = 0;
  size_t longest = 0;
  for (const StackedBars::Bar& bar : bars.bars) most = std::max(most, sum_of(bar)), longest = std::max(longest, bar.text.size());
  const int top = Canvas(bars.width, 0, "", false).key(key);
  Canvas canvas(bars.width, top + kLine * double(bars.bars.size()) + kMargin, bars.title, false);
  canvas.key(key);
  const double room = canvas.right() - canvas.left() - kCharacter * double(longest) - kMargin;
  double y = top;
  for (const StackedBars::Bar& bar : bars.bars) {
    write_name(canvas, bar.name, y + kBar / 2);
    double x = canvas.left();
    for (size_t i = 0; i < bar.values.size(); ++i) {
      const double width = most > 0 ? bar.values[i] / most * room : 0;
      if (width > 0)
        canvas.put("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" class=\"s{}\"/>", x, y, width, kBar, i);
      x += width;
    }
    canvas.put("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + kMargin, y + kBar / 2 + 4, xml_text(bar.text));
    canvas.frame(y, y + kBar);
    canvas.hit(canvas.left(), canvas.right(), xml_text(bar.name) + "\n" + xml_text(bar.more));
    y += kLine;
  }
  return canvas.finish();
}

std::string activity_rows_svg(const ActivityRows& rows) {
  uint64_t most = 0;
  for (const ActivityRows::Line& line : rows.lines)
    for (uint64_t count : line.counts) most = std::max(most, count);
  const double end = std::max(rows.end, 1e-9);
  Canvas measure(rows.width, 0, "", false);
  const int top = TimeFields(measure, end, most).key();
  const double bottom = top + kFieldLine * double(rows.lines.size());
  Canvas canvas(rows.width, bottom + kBottom, rows.title, false);
  TimeFields fields(canvas, end, most);
  fields.key();
  double y = top;
  for (const ActivityRows::Line& line : rows.lines) {
    write_name(canvas, line.name, y + kField / 2);
    for (size_t i = 0; i < line.counts.size(); ++i)
      fields.add(double(i) * rows.stretch, std::min(double(i + 1) * rows.stretch, end), y, kField, line.counts[i]);
    y += kFieldLine;
  }
  fields.write();
  canvas.frame(top, bottom);
  canvas.put("<line x1=\"{0}\" y1=\"{1:.0f}\" x2=\"{2}\" y2=\"{1:.0f}\" class=\"axis\"/>", canvas.left(), bottom, canvas.right());
  fields.axis(bottom + 34);
  y = top;
  for (const ActivityRows::Line& line : rows.lines) {
    canvas.frame(y, y + kField);
    canvas.hit(canvas.left(), canvas.right(), xml_text(line.name) + "\n" + xml_text(line.more));
    y += kFieldLine;
  }
  return canvas.finish();
}

}  // namespace fsr
