// SPDX-License-Identifier: Apache-2.0
#include "util/html_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "util/chart.hpp"
#include "util/units.hpp"

namespace fsr {

namespace {

constexpr size_t kWorthFolding = 3;  // rows
constexpr size_t kLongest = 160;     // characters of a name that are shown
constexpr size_t kKept = 24;         // bytes of a text in a table, at most, that is kept on one line

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#59636e;--line:#d4d9df;--tile:#f4f6f8;--shade:#0005;
--c0:#0b62b0;--c1:#b3410e;--c2:#0a7358;--c3:#8a4aa0;--c4:#707a85;--c5:#e3aa2c;--o5:#8a6200;--c6:#93300a;--good:#0a7358;--bad:#b3300c;
--h0:#afd0ec;--h1:#7fb2df;--h2:#4f90cb;--h3:#2c6fb0;--h4:#154a87;--h5:#062a57}
@media screen and (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e8ec;--soft:#9aa5b1;--line:#343b44;--tile:#1d2228;--shade:#fff6;
--c0:#62aef7;--c1:#ff9468;--c2:#4fcaa3;--c3:#cf9be6;--c4:#8d98a5;--c5:#e9c46a;--o5:#e9c46a;--c6:#ff8a5c;--good:#4fcaa3;--bad:#ff8a66;
--h0:#28507a;--h1:#376b9f;--h2:#4d8bc6;--h3:#77ade0;--h4:#afd2f3;--h5:#e6f3ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:64rem;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,"Segoe UI","DejaVu Sans",sans-serif}
h1{font-size:1.5rem;margin:0 0 .25rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2.25rem 0 .5rem}
p{margin:.4rem 0;overflow-wrap:anywhere}a{color:var(--c0)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;list-style:none;padding:0;margin:.75rem 0}
.skip{position:absolute;left:-99rem}.skip:focus{position:static}
:focus-visible{outline:2px solid var(--c0);outline-offset:2px}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:.6rem;margin:1rem 0}
dl div{background:var(--tile);border-radius:6px;padding:.5rem .75rem}dt{color:var(--soft);font-size:.85rem}
dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
small{color:var(--soft);font-size:.85em;white-space:nowrap}dd small,td small,th small{display:block;font-weight:400}dd small{white-space:normal;font-size:.84rem}.note{color:var(--soft);font-size:.88rem}
p{max-width:46rem}.verdict p{max-width:none}
.verdict{border-left:5px solid var(--soft);background:var(--tile);padding:.6rem 1rem;margin:.9rem 0}
.verdict.good{border-color:var(--good)}.verdict.bad{border-color:var(--bad)}.v{font-size:1.1rem;font-weight:600}
.env{grid-template-columns:11rem 1fr;gap:.1rem .8rem;font-size:.9rem;margin:.6rem 0}.env div{display:contents}.env dd{font-size:inherit}
.better{color:var(--good);font-weight:600}.worse{color:var(--c1);font-weight:600}td.open{color:var(--soft)}
.p{width:28%;min-width:10rem}td.p{padding:0}.g th.p{padding-left:0;padding-right:0}.g th,.g td{vertical-align:middle}.viz{position:relative;display:block;height:46px;overflow:hidden}
.viz svg{position:absolute;inset:0;width:100%;height:100%;margin:0}.viz path,.viz rect{vector-effect:non-scaling-stroke}
.viz i{position:absolute;width:7px;height:7px;border-radius:50%;margin:-3.5px 0 0 -3.5px;background:var(--soft)}
.viz b{position:absolute;top:6px;width:3px;height:22px;margin-left:-1.5px;background:var(--fg)}
.viz .s0,.viz .s4{stroke:none}.mark{stroke:var(--fg);stroke-width:1.5}
.scale{position:relative;display:block;height:2.8em;line-height:1.35;font-weight:400}.scale span{position:absolute;top:0;white-space:nowrap}
.scale .tick{top:auto;bottom:0;transform:translateX(-50%)}.scale .first{transform:none}.scale .last{transform:translateX(-100%)}
rect.box{fill:none;stroke:var(--soft);stroke-width:1.5}rect.box.better{fill:var(--good);fill-opacity:.55;stroke:var(--good)}
rect.box.worse{fill:var(--c1);fill-opacity:.55;stroke:var(--c1)}
.small{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.4rem 1.2rem}.small figure{margin:.4rem 0}figcaption{font-weight:600;font-size:.9rem}.small .scale{height:1.4em;font-size:.8rem}
pre{background:var(--tile);padding:.6rem .8rem;overflow-x:auto;font-size:.85rem}
.x1{background:#0b62b01c}.x2{background:#0b62b03c}.x3{background:#0b62b066}.y1{background:#d9601a20}.y2{background:#d9601a44}.y3{background:#d9601a70}
.scroll{overflow-x:auto;margin:.75rem 0;background:linear-gradient(to right,var(--bg) 40%,transparent) left/2rem 100%,
linear-gradient(to left,var(--bg) 40%,transparent) right/2rem 100%,linear-gradient(to right,var(--shade),transparent) left/.8rem 100%,
linear-gradient(to left,var(--shade),transparent) right/.8rem 100%;background-repeat:no-repeat;
background-attachment:local,local,scroll,scroll}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.25rem 0}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:baseline;white-space:nowrap}
th:first-child,.t td,.t th{text-align:left;white-space:normal;overflow-wrap:anywhere}
td.w,th.w{text-align:left;white-space:normal;overflow-wrap:anywhere}data,.u,.t td.k,td.k{white-space:nowrap}
thead th:first-child,.t thead th{overflow-wrap:normal}
thead th{color:var(--soft);font-weight:600;white-space:normal;overflow-wrap:normal;vertical-align:bottom}tbody th{font-weight:500;min-width:9rem}
figure{margin:1rem 0}svg{width:100%;height:auto;font-family:inherit}td svg,th svg{display:block;height:5px;margin-top:2px}
text{fill:var(--fg)}.grid{stroke:var(--line)}.axis{stroke:var(--soft)}.l{stroke-width:2}.fill{stroke:none;fill-opacity:.25}.thin{stroke-width:1}.hit{fill:transparent}
.hit>:hover{fill:var(--fg);fill-opacity:.08}
.s0{stroke:var(--c0);fill:var(--c0)}.s1{stroke:var(--c1);fill:var(--c1)}.s2{stroke:var(--c2);fill:var(--c2)}
.s3{stroke:var(--c3);fill:var(--c3)}.s4{stroke:var(--c4);fill:var(--c4)}.s5{fill:var(--c5)}.s6{fill:var(--c6)}.l.s5{stroke:var(--c5)}.l.s6{stroke:var(--c6)}path.l{fill:none}rect[class]:not(.box){stroke:none}rect.s5{stroke:var(--o5)}
.h0{fill:var(--h0);stroke:var(--h0)}.h1{fill:var(--h1);stroke:var(--h1)}.h2{fill:var(--h2);stroke:var(--h2)}
.h3{fill:var(--h3);stroke:var(--h3)}.h4{fill:var(--h4);stroke:var(--h4)}.h5{fill:var(--h5);stroke:var(--h5)}
.phone{display:none}.b{fill:var(--c0)}
@media (max-width:60rem){.every2{display:none}table{font-size:.85rem}th,td{padding:.3rem .4rem}tbody th{min-width:7rem}}
@media (max-width:46rem){.wide{display:none}.phone{display:block;max-width:34rem}}
@media (max-width:34rem){body{padding:.75rem}.env{grid-template-columns:1fr}.env dd{margin-bottom:.4rem}.t tbody th{min-width:6rem}
table:not(.t) tbody th{position:sticky;left:0;background:var(--bg);min-width:7rem;max-width:9rem}
.stack thead{display:none}.g thead,.g thead tr,.g thead th.p{display:block;width:auto}.g thead th:not(.p){display:none}.stack,.stack caption,.stack tbody,.stack tr,.stack th,.stack td{display:block;border:0;padding:0}
.stack tr{border-bottom:1px solid var(--line);padding:.45rem 0}.stack td:empty{display:none}
.stack td.p::before{content:none}.stack td.p{width:auto}.g td,.m td{text-align:left}.g td:not(.p):not(:empty),.m td:not(.w):not(:empty){display:inline-block;margin-right:1rem}
.g td small{display:inline;margin-left:.3rem}
.stack td::before{content:attr(data-l) " ";color:var(--soft);font-size:.84rem}}
dd summary{font-size:inherit}summary{cursor:pointer;color:var(--soft);font-size:.85rem}
@media print{.wide{display:block}.phone{display:none}:root{--fg:#000;--soft:#444;--line:#bbb}
body{max-width:none;padding:0;font-size:10pt}nav,details:not(dd *),.skip{display:none}.scroll{overflow:visible;background:none}
table{font-size:7.5pt}th,td{padding:1.5pt 3pt}tbody th{min-width:5rem}figure,tr,dl{break-inside:avoid}
h2,caption{break-after:avoid}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)";

// Returns a text as markup. A long one, such as a path, loses its middle, and a browser shows it whole under the pointer. Text of
// unknown direction must not turn around what stands beside it.
std::string isolated(const std::string& text) {
  const std::string shown = shortened(text, kLongest);
  const bool left_to_right = std::all_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x80; });
  if (shown.size() < text.size()) return "<bdi title=\"" + xml_text(text) + "\">" + xml_text(shown) + "</bdi>";
  return left_to_right ? xml_text(text) : "<bdi>" + xml_text(text) + "</bdi>";
}

// Returns markup with its numbers and their units on one line each. Its text stays the same: it may be a command to copy.
std::string unbroken(std::string_view markup) {
  constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB", "%"};
  std::string out;
  size_t done = 0;
  for (size_t at = 0; (at = markup.find(' ', at + 1)) != markup.npos;) {
    const size_t end = std::min(markup.find_first_of(" ,;.:)<", at + 1), markup.size());
    const std::string_view word = markup.substr(at + 1, end - at - 1);
    if (!isdigit(uint8_t(markup[at - 1])) || std::find(std::begin(kUnits), std::end(kUnits), word) == std::end(kUnits)) continue;
    const size_t begin = markup.find_last_not_of("0123456789.,", at - 1) + 1;
    fmt::format_to(std::back_inserter(out), "{}<span class=\"u\">{}</span>", markup.substr(done, begin - done),
                   markup.substr(begin, end - begin));
    done = end;
  }
  return out.append(markup.substr(done));
}

// Returns a sentence as markup. Words of it that are as long as paths lose their middles.
std::string sentence(std::string_view text) {
  std::string markup;
  for (size_t end; !text.empty(); text.remove_prefix(std::min(text.size(), end))) {
    end = std::min(text.find(' ', 1), text.size());
    markup += isolated(std::string(text.substr(0, end)));
  }
  return unbroken(markup);
}

std::string cell_text(const HtmlPage::Cell& cell) {
  if (!cell.picture.empty()) return cell.picture;
  const std::string below = cell.below.empty() ? "" : "<small>" + xml_text(cell.below) + "</small>";
  if (cell.value.empty()) return (cell.text.empty() ? "" : isolated(cell.text)) + below;
  return "<data value=\"" + xml_text(cell.value) + "\">" + xml_text(cell.text) + "</data>" + below;
}

// Returns the attribute for the classes of a cell. A short text is kept on one line: if it could break anywhere, its numbers
// would.
std::string classes(bool text, bool among_numbers, const HtmlPage::Cell& cell) {
  std::string names = among_numbers ? " w" : "";
  if (!cell.picture.empty()) names += " p";
  if (text && !cell.text.empty() && cell.text.size() <= kKept) names += " k";
  if (!cell.looks.empty()) names += " " + cell.looks;
  return names.empty() ? "" : " class=\"" + names.substr(1) + "\"";
}

}  // namespace

HtmlPage::Cell count_cell(uint64_t n) { return {format_count(n), std::to_string(n)}; }
HtmlPage::Cell size_cell(uint64_t bytes) { return {format_size(bytes), std::to_string(bytes)}; }
HtmlPage::Cell duration_cell(int64_t ns) { return {format_duration(ns), std::to_string(ns)}; }
HtmlPage::Cell rate_cell(double per_second) { return {count_text(per_second), fmt::format("{:.3f}", per_second)}; }
HtmlPage::Cell share_cell(uint64_t part, uint64_t whole) { return percent_text(whole ? double(part) / double(whole) : 0); }

HtmlPage::HtmlPage(std::string_view title) : title_(title) {}

void HtmlPage::paragraph(std::string_view text) { body_ += "<p>" + sentence(text) + "</p>\n"; }

void HtmlPage::note(std::string_view text) { body_ += "<p class=\"note\">" + sentence(text) + "</p>\n"; }

void HtmlPage::verdict(Mark mark, std::string_view words, const std::vector<std::string>& sentences) {
  constexpr const char *kNames[] = {"good", "bad", "open"}, *kSigns[] = {"✓", "✗", "∼"};
  fmt::format_to(std::back_inserter(body_), "<div class=\"verdict {}\"><p class=\"v\">{} {}</p>\n", kNames[int(mark)],
                 kSigns[int(mark)], sentence(words));
  for (const std::string& sentence : sentences) paragraph(sentence);
  body_ += "</div>\n";
}

void HtmlPage::list(std::string_view attributes, const Values& values, bool sentences) {
  fmt::format_to(std::back_inserter(body_), "<dl{}>\n", attributes);
  for (const auto& [what, value] : values)
    if (!value.text.empty()) {
      const std::string text = cell_text(value);
      const bool whole = value.text.size() <= kLongest;  // else it is folded, as it may be a command to copy
      fmt::format_to(std::back_inserter(body_), "<div><dt>{}</dt><dd>{}</dd></div>\n", xml_text(what),
                     !whole ? fmt::format("<details><summary>{}</summary>{}</details>", text, xml_text(value.text))
                     : value.value.empty() && !sentences ? text
                                                         : unbroken(text));
    }
  body_ += "</dl>\n";
}
void HtmlPage::facts(std::string_view id, const Values& facts, bool sentences) {
  list(fmt::format(" class=\"env\" id=\"{}\"", id), facts, sentences);
}
void HtmlPage::tiles(const Values& tiles) { list("", tiles, false); }

void HtmlPage::small_multiples(const std::vector<Small>& drawings) {
  body_ += "<div class=\"small\">\n";
  for (const Small& small : drawings)
    body_ += "<figure>" + (small.name.empty() ? "" : "<figcaption>" + isolated(small.name) + "</figcaption>") + small.drawing +
             (small.below.empty() ? "" : "<small>" + xml_text(small.below) + "</small>") + "</figure>\n";
  body_ += "</div>\n";
}

void HtmlPage::markup(std::string_view html) { body_ += html; }

void HtmlPage::section(std::string_view id, std::string_view heading, std::string_view text) {
  if (in_section_) body_ += "</section>\n";
  in_section_ = true;
  fmt::format_to(std::back_inserter(contents_), "<li><a href=\"#{}\">{}</a></li>\n", id, isolated(std::string(heading)));
  fmt::format_to(std::back_inserter(body_), "<section id=\"{0}\" aria-labelledby=\"{0}-h\">\n<h2 id=\"{0}-h\">{1}</h2>\n", id,
                 isolated(std::string(heading)));
  if (!text.empty()) note(text);
}

void HtmlPage::table(const Table& t) {
  if (t.most == 0 || t.rows.size() < t.most + kWorthFolding) return whole_table(t);
  Table first = t, rest = t;
  first.rows.resize(t.most);
  rest.rows.erase(rest.rows.begin(), rest.rows.begin() + long(t.most));
  if (!t.bars.empty()) rest.bars.erase(rest.bars.begin(), rest.bars.begin() + long(t.most));
  rest.folded = fmt::format("{} more", rest.rows.size());
  rest.id += "-more";
  whole_table(first);
  whole_table(rest);
}

void HtmlPage::whole_table(const Table& t) {
  auto is_text = [&](size_t column) { return std::find(t.words.begin(), t.words.end(), column) != t.words.end(); };
  // On a phone, rows with text become blocks, whose roles must be named. Rows of numbers scroll.
  const bool stack = (t.text_columns && t.headings.size() > 2) || !t.words.empty() || t.pictures;
  auto role = [stack](const char* name) { return stack ? fmt::format(" role=\"{}\"", name) : ""; };
  if (!t.folded.empty()) body_ += "<details><summary>" + xml_text(t.folded) + "</summary>\n";
  // A scrolling element must be reachable by keyboard.
  const std::string form = std::string(t.text_columns ? " t" : "") + (stack ? " stack" : "") +
                           (t.pictures                 ? " g"
                            : stack && !t.text_columns ? " m"
                                                       : "");
  body_ += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table{}{}{}>\n",
                       xml_text(t.caption), form.empty() ? "" : " class=\"" + form.substr(1) + "\"", role("table"),
                       t.id.empty() ? "" : " id=\"" + t.id + "\"");
  body_ += "<caption>" + xml_text(t.caption) + "</caption>\n<thead><tr>";
  for (size_t i = 0; i < t.headings.size(); ++i) {
    const bool drawn = i && i == t.pictures;
    body_ += fmt::format("<th scope=\"col\"{}>{}{}</th>",
                         is_text(i) ? " class=\"w\""
                         : drawn    ? " class=\"p\""
                                    : "",
                         xml_text(t.headings[i]), drawn ? t.scale : "");
  }
  body_ += "</tr></thead>\n<tbody" + role("rowgroup") + ">\n";
  for (size_t r = 0; r < t.rows.size(); ++r) {
    const std::vector<Cell>& row = t.rows[r];
    body_ += fmt::format("<tr{}><th scope=\"row\"{}>{}", role("row"), role("rowheader"), row.empty() ? "" : cell_text(row[0]));
    if (r < t.bars.size())
      body_ += fmt::format(
          "<svg viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"b\" width=\"{0:.2f}\" "
          "height=\"1\"><title>{0:.1f} %</title></rect></svg>",
          100 * t.bars[r]);
    body_ += "</th>";
    for (size_t i = 1; i < row.size(); ++i)
      body_ += fmt::format("<td{}{}{}>{}</td>", classes(t.text_columns || is_text(i), is_text(i), row[i]), role("cell"),
                           stack ? " data-l=\"" + xml_text(t.headings[i]) + "\"" : "",
                           is_text(i) ? unbroken(cell_text(row[i])) : cell_text(row[i]));
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
  if (!t.folded.empty()) body_ += "</details>\n";
}

void HtmlPage::figure(const std::string& wide, const std::string& narrow, const Table& values) {
  body_ += "<figure>\n<div class=\"wide\">" + wide + "</div>\n<div class=\"phone\">" + narrow + "</div>\n";
  if (!values.headings.empty()) table(values);
  body_ += "</figure>\n";
}

void HtmlPage::charts(const std::vector<Chart>& charts, const std::string& label) {
  Table t{.caption = charts.size() > 1 ? label : charts[0].title, .headings = {charts[0].x_label}, .folded = label};
  std::multimap<double, std::vector<std::string>> rows;
  for (const Chart& chart : charts) {
    const size_t before = t.headings.size() - 1;
    for (const ChartSeries& s : chart.series)
      t.headings.push_back(charts.size() == 1 ? (s.name.empty() ? chart.y_label : s.name)
                           : s.name.empty()   ? chart.title
                                              : chart.title + ", " + s.name);
    for (auto& [x, values] : chart_rows(chart)) {
      const auto at = charts.size() > 1 ? rows.find(x) : rows.end();
      std::vector<std::string>& row = at == rows.end() ? rows.emplace(x, std::vector<std::string>(before))->second : at->second;
      row.insert(row.end(), values.begin(), values.end());
    }
    for (auto& [x, row] : rows) row.resize(t.headings.size() - 1);
  }
  const std::vector<std::string>* before = nullptr;
  for (const auto& [x, values] : rows) {
    if (charts[0].style == ChartStyle::areas && before && values == *before) continue;
    before = &values;
    t.rows.push_back({charts[0].x_text(x)});
    t.rows.back().insert(t.rows.back().end(), values.begin(), values.end());
  }
  for (const Chart& chart : charts) figure(chart, chart_svg, &chart == &charts.back() ? t : Table{});
}

void HtmlPage::heat_maps(std::vector<HeatMap> maps) {
  constexpr int kColumns = 150, kFewColumns = 60;
  std::vector<HeatMap> narrow = maps;
  for (HeatMap& map : narrow) map = for_phone(map);
  share_scales(maps, kColumns);
  share_scales(narrow, kFewColumns);
  Table t{.caption = "Operations by time", .headings = {"time from"}, .folded = "Operations by time as a table"};
  std::map<int, std::vector<uint64_t>> counts;
  for (size_t i = 0; i < maps.size(); ++i) {
    t.headings.push_back(maps[i].title);
    for (const HeatMap::Cell& cell : maps[i].cells) {
      std::vector<uint64_t>& row = counts[cell.bucket];
      row.resize(maps.size());
      row[i] += cell.count;
    }
  }
  for (const auto& [bucket, row] : counts) {
    t.rows.push_back({duration_cell(std::llround(std::pow(10, double(bucket) / HeatMap::kPerDecade)))});
    for (uint64_t n : row) t.rows.back().push_back(count_cell(n));
  }
  for (size_t i = 0; i < maps.size(); ++i)
    figure(heat_map_svg(maps[i]), heat_map_svg(narrow[i]), i + 1 == maps.size() ? t : Table{});
}

std::string HtmlPage::finish() {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
      "{6}<link rel=\"icon\" href=\"data:,\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header><h1>{2}</h1>\n<nav "
      "aria-label=\"Contents\"><ul>\n{3}</ul></nav>"
      "</header>\n<main id=\"content\">\n{4}{5}</main>\n</body>\n</html>\n",
      xml_text(title_), kStyle, isolated(title_), contents_, body_, in_section_ ? "</section>\n" : "",
      refresh_ ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", refresh_) : "");
}

}  // namespace fsr
