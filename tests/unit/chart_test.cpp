// SPDX-License-Identifier: Apache-2.0
#include "util/chart.hpp"

#include "catch.hpp"
#include "util/distinct_count.hpp"

using namespace fsr;

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
}

TEST_CASE("a chart has a text for each point, even if it has one point or none") {
  Chart chart{.title = "<T>", .x_label = "x", .y_label = "y", .series = {{"s", {}}}};
  CHECK(chart_svg(chart, true).find("&lt;T&gt;") != std::string::npos);
  chart.series[0].points = {{0, 0}};
  const std::string one = chart_svg(chart, true);
  CHECK(one.find("nan") == std::string::npos);
  CHECK(one.find("<title>0\ns: 0</title>") != std::string::npos);
  chart.series[0].points = {{1, 5}, {2, 7}, {3, 0}};
  chart.style = ChartStyle::columns;
  const std::string columns = chart_svg(chart, false);
  CHECK(columns.find("<title>2 to 3\ns: 7</title>") != std::string::npos);
  CHECK(columns.find("role=\"img\"") != std::string::npos);
}
