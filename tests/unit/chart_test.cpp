// SPDX-License-Identifier: Apache-2.0
#include "util/chart.hpp"
#include "util/heat_map.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "util/distinct_count.hpp"
#include "util/html_page.hpp"

namespace fsr::chart_test {

TEST_CASE("the number of different values is correct within two percent") {
  for (uint64_t n : {0, 1, 100, 10'000, 1'000'000}) {
    DistinctCount count;
    for (int twice = 0; twice < 2; ++twice)
      for (uint64_t i = 0; i < n; ++i) count.add(i % 7, i);
    CHECK(double(count.estimate()) >= 0.98 * double(n));
    CHECK(double(count.estimate()) <= 1.02 * double(n));
  }
}

TEST_CASE("the HTML writer turns any bytes into valid text") {
  CHECK(xml_text("<script>alert(1)</script>") == "&lt;script&gt;alert(1)&lt;/script&gt;");
  CHECK(xml_text("a\"b'c&d") == "a&quot;b&#39;c&amp;d");
  CHECK(xml_text(std::string("x\0\n\xff", 4)) == "x\\x00\\x0a\\xff");
  CHECK(xml_lines("a<\nb\n") == "a&lt;\nb\n");
  CHECK(xml_lines(std::string(300'000, '\n')).size() == 300'000);
}

TEST_CASE("a chart has a text for each point, even if it has one point or none") {
  Chart chart{.title = "<T>", .x_label = "x", .y_label = "y", .series = {{"s", {}}}};
  CHECK(chart_file(chart).find("&lt;T&gt;") != std::string::npos);
  chart.series[0].points = {{0, 0}};
  const std::string one = chart_file(chart);
  CHECK(one.find("nan") == std::string::npos);
  CHECK(one.find("<title>0\ns: 0</title>") != std::string::npos);
  chart.series[0].points = {{1, 5}, {2, 7}, {3, 0}};
  chart.style = ChartStyle::columns;
  const std::string columns = chart_svg(chart);
  CHECK(columns.find("<title>2 to 3\ns: 7</title>") != std::string::npos);
  CHECK(columns.find("role=\"img\"") != std::string::npos);
}

TEST_CASE("no line crosses a gap, and a gap is not a zero") {
  // Returns the steps or slopes of each part of the only line.
  auto lines = [](const std::string& svg) {
    std::vector<size_t> parts;
    const size_t at = svg.find(" d=\"", svg.find("<path class=\"l "));
    for (char c : svg.substr(at + 4, svg.find('"', at + 4) - at - 4)) {
      if (c == 'M') parts.push_back(0);
      if (c == 'l' || c == 'h') ++parts.back();
    }
    return parts;
  };
  Chart chart{.title = "T", .x_label = "x", .y_label = "y", .log_y = true};
  chart.width = 800;
  chart.series = {{"s", {{0, 100}, {1, 200}, {2, kGap}, {3, 300}, {4, kGap}, {5, 400}, {6, 500}}}};
  const std::string svg = chart_svg(chart);
  CHECK(lines(svg) == std::vector<size_t>{1, 0, 1});
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("<title>2\n") == std::string::npos);
  // A step lasts from its point to the next, also to a gap.
  chart.style = ChartStyle::areas;
  const std::string steps = chart_svg(chart);
  CHECK(lines(steps) == std::vector<size_t>{2, 1, 1});
  CHECK(steps.find("<title>1 to 2\ns: 200</title>") != std::string::npos);
}

TEST_CASE("a step of less than a unit between gaps is drawn") {
  Chart chart{.title = "T", .x_label = "x", .y_label = "y", .style = ChartStyle::areas};
  chart.series = {{"s", {{0, kGap}, {500, 1}, {500.1, kGap}, {1000, kGap}}}};
  const std::string svg = chart_file(chart);
  CHECK(svg.find("d=\"M435 40h0\"") != svg.npos);  // has no length, and so only its ends are seen
  CHECK(svg.find(".l{stroke-width:2;stroke-linecap:square}") != svg.npos);
}

TEST_CASE("a text under the pointer stands for as many steps as a pointer can't tell apart") {
  Chart chart{.title = "T", .x_label = "x", .y_label = "y", .style = ChartStyle::areas};
  chart.series = {{"s", {}}};
  for (int i = 0; i <= 200; ++i) chart.series[0].points.push_back({double(i), double(i % 10)});
  const std::string svg = chart_svg(chart);
  CHECK(svg.find("<title>0 to 7\ns: 0 to 6</title>") != svg.npos);
  CHECK(svg.find("<title>7 to 14\ns: 0 to 9</title>") != svg.npos);
}

TEST_CASE("a heat map has the share of each row beside it, and runs of equal fields as one") {
  std::vector<HeatMap> maps = {{.title = "T", .end = 10}};
  for (int column : {0, 1, 2, 5}) maps[0].cells.push_back({column, 20, 2});
  maps[0].cells.push_back({9, 23, 2});
  share_scales(maps, 150);
  CHECK(maps[0].most_share == 0.8);
  const std::string svg = heat_map_svg(maps[0]);
  CHECK(svg.find("h3m2 0h1") != svg.npos);   // three fields, and one two columns on
  CHECK(svg.find("h64.0M") != svg.npos);     // the row with most is as long as there is room
  CHECK(svg.find("h16.0\"/>") != svg.npos);  // a quarter
  share_scales(maps, 5);
  CHECK(maps[0].stretch == 2);
  CHECK(maps[0].cells[0].count == 4);
  std::vector<HeatMap> last = {{.title = "T", .cells = {{10, 20, 1}}, .end = 10}};
  share_scales(last, 150);
  CHECK(heat_map_svg(last[0]).find("h0.5\"/>") != svg.npos);  // a field that begins at the end is seen
}

TEST_CASE("a logarithmic axis has no place for a zero, but its text has one") {
  Chart chart{.title = "T", .x_label = "x", .y_label = "y", .style = ChartStyle::areas, .log_y = true};
  chart.series = {{"s", {{0, 100}, {1, 0}, {2, 300}, {3, kGap}}}};
  const std::string svg = chart_svg(chart);
  const size_t line = svg.find("<path class=\"l "), end = svg.find('>', line);
  CHECK(std::count(svg.begin() + long(line), svg.begin() + long(end), 'M') == 2);
  CHECK(svg.find("<title>1 to 2\ns: 0</title>") != std::string::npos);
}

TEST_CASE("a chart without a value has no ticks") {
  Chart chart{.title = "T", .x_label = "x", .y_label = "y", .style = ChartStyle::areas, .log_y = true};
  chart.series = {{"s", {{0, kGap}, {1, kGap}}}};
  const std::string svg = chart_svg(chart);
  CHECK(svg.find(">no values<") != svg.npos);
  CHECK(svg.find("<path") == svg.npos);
}

TEST_CASE("axes have round times, in words that fit beside them") {
  CHECK(round_seconds(8, 8) == 1);
  CHECK(round_seconds(130, 8) == 30);  // no mark at 100 s among minutes
  CHECK(round_seconds(3000, 8) == 600);
  CHECK(round_seconds(3600 * 20, 3) == 12 * 3600);
  CHECK(round_seconds(86400 * 30, 8) == 5 * 86400);
  CHECK(log_time_text(1e12) == "1,000 s");
  CHECK(log_time_text(1e10) == "10 s");
  CHECK(duration_text(1.2e12) == "20 min 00 s");
}

TEST_CASE("the line of a load that overloads its target goes on in the order of the loads") {
  const std::vector<LoadRun> runs = {{.series = "1", .asked = "100", .load = 100, .achieved = 100, .times = {1e6}},
                                     {.series = "1", .asked = "400", .load = 400, .achieved = 150, .times = {9e6}},
                                     {.series = "1", .asked = "200", .load = 200, .achieved = 190, .times = {2e6}}};
  const std::vector<ChartPoint> points = load_curve({"p99"}, runs).series[0].points;
  REQUIRE(points.size() == 3);
  CHECK(points[1].x == 190);
  CHECK(points[2].x == 150);
}

TEST_CASE("three targets have lines of their own") {
  std::vector<LoadRun> runs;
  for (const char* target : {"a", "b", "c"})
    runs.push_back({.group = target, .series = target, .asked = "1", .load = 1, .achieved = 10, .times = {1e6, 2e6}});
  const Chart chart = load_curve({"p50", "p99"}, runs);
  REQUIRE(chart.series.size() == 3);
  CHECK(chart.series[2].name == "p99, c");
  CHECK(chart.series[2].colour == 2);
}

TEST_CASE("the key tells long groups apart, and the table has their whole names") {
  auto keys = [](const std::vector<std::string>& groups) {
    std::vector<LoadRun> runs;
    for (const std::string& group : groups)
      runs.push_back({.group = group, .series = group, .asked = "1", .load = 1, .achieved = 10, .times = {1e6}});
    std::vector<std::string> found;
    for (const ChartSeries& series : load_curve({"p99"}, runs).series) {
      found.push_back(series.key);
      CHECK(series.name == "p99, " + groups[found.size() - 1]);
    }
    return found;
  };
  using Keys = std::vector<std::string>;
  CHECK(keys({"/tmp/a/trace-of-mail.zst on memory:", "/tmp/a/trace-of-git.zst on memory:"}) ==
        Keys{"p99, trace-of-mai… on memory:", "p99, trace-of-git… on memory:"});
  CHECK(keys({"/tmp/a/t.zst on memory:", "/tmp/a/t.zst on file:x"}) ==
        Keys{"p99, /tmp/a/t.zst on memory:", "p99, /tmp/a/t.zst on file:x"});
  CHECK(keys({"a-directory/one/long-name-of-a-file", "a-directory/two/long-name-of-a-file"}) ==
        Keys{"p99, one/long-name-of-a-file", "p99, two/long-name-of-a-file"});
  CHECK(keys({"a-directory-of-much-length/", "a-directory-of-much-length/b"}) ==
        Keys{"p99, a-directory-…uch-length/", "p99, a-directory-…ch-length/b"});
  const Keys numbered = keys({"long-name-of-a/one/long-name-of-a-file", "long-name-of-a/one-b/long-name-of-a-file", "x"});
  CHECK(numbered[0] == "p99, 1: long-name-of…e-of-a-file");
  CHECK(numbered[1] == "p99, 2: long-name-of…e-of-a-file");
}

TEST_CASE("series with points of their own do not borrow each other's places") {
  Chart chart{.title = "T", .x_label = "x", .y_label = "y"};
  chart.series = {{"a", {{1, 5}, {3, 6}}}, {"b", {{2, 7}, {3, 8}}}};
  const std::string svg = chart_svg(chart);
  CHECK(svg.find("<title>1\na: 5</title>") != svg.npos);
  CHECK(svg.find("<title>2\nb: 7</title>") != svg.npos);
  CHECK(svg.find("<title>3\na: 6\nb: 8</title>") != svg.npos);
}

TEST_CASE("a name of a row is cut between characters") {
  const std::string svg = heat_map_svg({.title = "T", .cells = {{0, 0, 1}}, .names = {"ÄÖÜÄÖÜÄÖÜÄÖÜ"}, .end = 1, .most = 1});
  CHECK(svg.find(">ÄÖÜÄÖ…ÖÜÄÖÜ</text>") != svg.npos);
  CHECK(svg.find("\\x") == svg.npos);
}

TEST_CASE("the axis of values that are all zero has different ticks") {
  Chart chart{.title = "T", .x_label = "x", .y_label = "y", .style = ChartStyle::areas};
  chart.series = {{"s", {{0, 0}, {1, 0}, {2, kGap}}}};
  chart.y_text = count_text;
  const std::string svg = chart_svg(chart);
  CHECK(svg.find(">0.00<") == svg.npos);
  for (const char* tick : {">1</text>", ">5</text>"}) CHECK(svg.find(tick) != svg.npos);
}

TEST_CASE("a time in a long name breaks no markup") {
  const std::string name = std::string(150, 'x') + " 5 ms " + std::string(150, 'y');
  HtmlPage page("T");
  page.table({.caption = "C", .headings = {"a", "b"}, .rows = {{"1", name}, {"2", "took 5 ms"}}, .words = {1}});
  const std::string html = page.finish();
  CHECK(html.find("title=\"" + name + "\">") != html.npos);
  CHECK(html.find("took <span class=\"u\">5 ms</span>") != html.npos);
}

TEST_CASE("a name is as long as it is shown, escapes included") {
  const std::string name(100, '\xff');  // shown in 400 characters
  HtmlPage page("T");
  page.table({.caption = "C", .headings = {"a"}, .rows = {{name}}});
  CHECK(page.finish().find("<bdi title=\"" + xml_text(name) + "\">") != std::string::npos);
  CHECK(xml_shortened(name, 9) == "\\xff…\\xff");
  CHECK(xml_shortened("a<b&c<d&e", 5) == "a&lt;…&amp;e");
}

TEST_CASE("a table of steps says that it leaves out what repeats") {
  auto page_of = [](double second) {
    Chart chart{.title = "T", .x_label = "x", .y_label = "y", .style = ChartStyle::areas};
    chart.series = {{"s", {{0, 1}, {1, second}, {2, kGap}}}};
    HtmlPage page("P");
    page.chart(chart);
    return page.finish();
  };
  CHECK(page_of(1).find("<caption>T. Left out: rows with the values of the row before</caption>") != std::string::npos);
  CHECK(page_of(2).find("<caption>T</caption>") != std::string::npos);
}

TEST_CASE("a section without content has no heading, and no entry in the contents") {
  HtmlPage page("T");
  page.section("a", "First", "A note.");
  page.table({.caption = "C", .headings = {"x"}});
  page.section("b", "Second");
  page.paragraph("Some.");
  page.section("c", "Third");
  const std::string html = page.finish();
  for (const char* left_out : {"First", "A note", "Third"}) CHECK(html.find(left_out) == html.npos);
  CHECK(html.find("<li><a href=\"#b\">Second</a></li>") != html.npos);
  CHECK(html.find("Some.</p>\n</section>") != html.npos);
}

}  // namespace fsr::chart_test
