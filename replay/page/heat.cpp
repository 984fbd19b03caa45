// SPDX-License-Identifier: Apache-2.0
#include "page/heat.hpp"

#include <array>
#include <cmath>
#include <map>

#include "page/result_cells.hpp"
#include "util/heat_map.hpp"

namespace fsr::page {

namespace {

struct Map {
  const char *what, *title, *heading;
};
// The recorded times stand above those that are compared with them.
constexpr std::array<Map, 3> kMaps = {{{"recorded", "Service in the capture", "in the capture"},
                                       {"service", "Service", "service"},
                                       {"response", "Response", "response"}}};

HeatMap map_of(const Map& kind, const std::vector<ResultRow>& rows) {
  HeatMap map{.title = kind.title, .cells = {}};
  for (const ResultRow& row : rows)
    if (row.text("what") == kind.what && row.number("bucket") >= 0 && row.number("bucket") <= HeatMap::kLastBucket)
      map.cells.push_back({double(row.number("from_ns")) / 1e9, double(row.number("to_ns")) / 1e9, int(row.number("bucket")),
                           uint64_t(row.number("count"))});
  return map;
}

void write_counts(HtmlPage& page, const std::vector<HeatMap>& maps, std::vector<std::string> headings) {
  std::map<int, std::vector<int64_t>> counts;
  for (size_t i = 0; i < maps.size(); ++i)
    for (const HeatMap::Cell& cell : maps[i].cells) {
      std::vector<int64_t>& row = counts[cell.bucket];
      row.resize(maps.size());
      row[i] += int64_t(cell.count);
    }
  HtmlPage::Table t{
      .caption = "Operations by time", .headings = {"time from"}, .rows = {}, .folded = "Operations by time as a table"};
  t.headings.insert(t.headings.end(), headings.begin(), headings.end());
  for (const auto& [bucket, row] : counts) {
    std::vector<HtmlPage::Cell> cells = {duration(std::llround(std::pow(10, bucket / 4.0)))};
    for (int64_t n : row) cells.push_back(count(n));
    t.rows.push_back(std::move(cells));
  }
  page.table(t);
}

}  // namespace

void write_heat_maps(HtmlPage& page, const std::vector<ResultRow>& rows) {
  std::vector<HeatMap> maps;
  std::vector<std::string> headings;
  for (const Map& kind : kMaps) {
    HeatMap map = map_of(kind, rows);
    if (map.cells.empty()) continue;
    maps.push_back(std::move(map));
    headings.push_back(kind.heading);
  }
  if (maps.empty()) return;
  share_scales(maps);
  page.style(kHeatMapStyle);
  page.paragraph(
      "A cell has the number of operations that completed then and took so long. Operations that failed or got no reply are left "
      "out. All maps have the same colours.");
  for (HeatMap& map : maps) {
    const std::string wide = heat_map_svg(map);
    map.width = HtmlPage::kPhoneWidth;
    page.markup("<figure>\n" + HtmlPage::drawings(wide, heat_map_svg(map)) + "</figure>\n");
  }
  write_counts(page, maps, headings);
}

}  // namespace fsr::page
