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

constexpr size_t kWorthFolding = 3;    // rows
constexpr size_t kLongestShown = 120;  // characters of a name that are shown
constexpr size_t kUnfolded = 500;      // bytes of a fact, at most, that is shown without being unfolded
constexpr uint8_t kHebrew = 0xd6;      // first byte of UTF-8 that a character from right to left or a mark for it can begin with
constexpr size_t kKept = 24;           // bytes of a text in a table, at most, that is kept on one line

// Returns a text as markup. A long one, such as a path, loses its middle, and a browser shows it whole under the pointer. Text of
// unknown direction must not turn around what stands beside it.
std::string isolated(const std::string& text, size_t most = kLongestShown) {
  const std::string whole = xml_text(text), shown = xml_shortened(text, most);
  if (shown != whole) return "<bdi title=\"" + whole + "\">" + shown + "</bdi>";
  const bool left_to_right = std::all_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < kHebrew; });
  return left_to_right ? whole : "<bdi>" + whole + "</bdi>";
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
    if (const size_t tag = markup.rfind('<', at); tag != markup.npos && markup.find('>', tag) > at) continue;  // in a title
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
  const std::string below = cell.below.empty() ? "" : "<small>" + isolated(cell.below) + "</small>";
  if (cell.value.empty()) return (cell.text.empty() ? "" : isolated(cell.text)) + below;
  return "<data value=\"" + xml_text(cell.value) + "\">" + xml_text(cell.text) + "</data>" + below;
}

// Returns an attribute; empty: it would have no value.
std::string attribute(const char* name, std::string_view value) {
  return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, value);
}

// Returns the classes of a cell. A short text is kept on one line: if it could break anywhere, its numbers would.
std::string classes(bool text, bool among_numbers, const HtmlPage::Cell& cell) {
  std::string names = among_numbers ? "w " : "";
  if (!cell.picture.empty()) names += "p ";
  if (text && !cell.text.empty() && cell.text.size() <= kKept) names += "k ";
  names += cell.looks;
  return names.substr(0, names.find_last_not_of(' ') + 1);
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

void HtmlPage::verdict(Mark mark, std::string_view words, const std::vector<std::string>& sentences, Link link) {
  constexpr const char *kNames[] = {"good", "bad", "open"}, *kSigns[] = {"✓", "✗", "∼"};
  fmt::format_to(std::back_inserter(body_), "<div class=\"verdict {}\"><p class=\"v\">{} {}{}</p>\n", kNames[int(mark)],
                 kSigns[int(mark)], sentence(words),
                 link.first ? fmt::format(" <a href=\"#{}\">{}</a>", link.first, link.second) : "");
  for (const std::string& sentence : sentences) paragraph(sentence);
  body_ += "</div>\n";
}

void HtmlPage::list(std::string_view attributes, const Values& values, bool sentences) {
  fmt::format_to(std::back_inserter(body_), "<dl{}>\n", attributes);
  for (const auto& [what, value] : values) {
    if (value.text.empty()) continue;
    const std::string text = !value.value.empty()             ? unbroken(cell_text(value))
                             : sentences                      ? sentence(value.text)
                             : value.text.size() <= kUnfolded ? isolated(value.text, kUnfolded)  // may be a command to copy
                                                              : fmt::format("<details><summary>{}</summary>{}</details>",
                                                                            isolated(value.text), xml_text(value.text));
    fmt::format_to(std::back_inserter(body_), "<div><dt>{}</dt><dd>{}</dd></div>\n", xml_text(what), text);
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
    body_ += "<figure><figcaption>" + isolated(small.name) + "</figcaption>" + small.drawing +
             (small.below.empty() ? "" : "<small>" + xml_text(small.below) + "</small>") + "</figure>\n";
  body_ += "</div>\n";
}

void HtmlPage::markup(std::string_view html) { body_ += html; }

void HtmlPage::section(std::string_view id, std::string_view heading, std::string_view text) {
  end_section();
  section_ = body_.size(), entry_ = contents_.size();
  fmt::format_to(std::back_inserter(contents_), "<li><a href=\"#{}\">{}</a></li>\n", id, isolated(std::string(heading)));
  fmt::format_to(std::back_inserter(body_), "<section id=\"{0}\" aria-labelledby=\"{0}-h\">\n<h2 id=\"{0}-h\">{1}</h2>\n", id,
                 isolated(std::string(heading)));
  if (!text.empty()) note(text);
  heading_ = body_.size();
}

void HtmlPage::end_section() {
  if (heading_ == 0) return;
  if (body_.size() > heading_)
    body_ += "</section>\n";
  else
    body_.resize(section_), contents_.resize(entry_);
}

void HtmlPage::table(const Table& t) {
  if (t.rows.empty()) return;
  if (t.most == 0 || t.rows.size() < t.most + kWorthFolding) return whole_table(t);
  Table first = t, rest = t;
  first.rows.resize(t.most);
  rest.rows.erase(rest.rows.begin(), rest.rows.begin() + long(t.most));
  rest.folded = fmt::format("{} more", rest.rows.size());
  rest.id += "-more";
  whole_table(first);
  whole_table(rest);
}

void HtmlPage::whole_table(const Table& t) {
  auto is_text = [&](size_t column) { return std::find(t.words.begin(), t.words.end(), column) != t.words.end(); };
  // On a phone, rows with text become blocks, whose roles must be named. Rows of numbers scroll.
  const bool stack = (t.text_columns && t.headings.size() > 2) || !t.words.empty() || t.pictures;
  auto role = [stack](const char* name) { return attribute("role", stack ? name : ""); };
  const std::string form = t.pictures ? "stack g" : t.text_columns ? (stack ? "t stack" : "t") : (stack ? "stack m" : "");
  if (!t.folded.empty()) body_ += "<details><summary>" + xml_text(t.folded) + "</summary>\n";
  // A scrolling element must be reachable by keyboard.
  body_ += fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table{1}{2}{3}>\n<caption>{0}</caption>\n"
      "<thead><tr>",
      xml_text(t.caption), attribute("class", form), role("table"), attribute("id", t.id));
  for (size_t i = 0; i < t.headings.size(); ++i) {
    const bool drawn = i && i == t.pictures;
    body_ += fmt::format("<th scope=\"col\"{}>{}{}</th>",
                         attribute("class", drawn        ? "p"
                                            : is_text(i) ? "w"
                                                         : ""),
                         isolated(t.headings[i]), drawn ? t.scale : "");
  }
  body_ += "</tr></thead>\n<tbody" + role("rowgroup") + ">\n";
  for (const std::vector<Cell>& row : t.rows) {  // cells and rows end where the next one begins, which makes pages shorter
    body_ += fmt::format("<tr{}><th scope=\"row\"{}>{}", role("row"), role("rowheader"), row.empty() ? "" : cell_text(row[0]));
    if (!row.empty() && row[0].bar >= 0)
      body_ += fmt::format(
          "<svg viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"b\" width=\"{0:.2f}\" "
          "height=\"1\"><title>{0:.1f} %</title></rect></svg>",
          100 * row[0].bar);
    body_ += "</th>";
    for (size_t i = 1; i < row.size(); ++i)
      body_ += fmt::format("<td{}{}{}>{}", attribute("class", classes(t.text_columns || is_text(i), is_text(i), row[i])),
                           role("cell"), attribute("data-l", stack ? xml_shortened(t.headings[i], kLongestShown) : ""),
                           is_text(i) ? unbroken(cell_text(row[i])) : cell_text(row[i]));
  }
  body_ += "</tbody></table></div>\n";
  if (!t.folded.empty()) body_ += "</details>\n";
}

void HtmlPage::figure(const std::string& wide, const std::string& narrow, const Table& values) {
  body_ += "<figure>\n<div class=\"wide\">" + wide + "</div>\n<div class=\"phone\">" + narrow + "</div>\n";
  table(values);
  body_ += "</figure>\n";
}

void HtmlPage::charts(const std::vector<Chart>& charts, const std::string& label) {
  Table t{.caption = charts.size() > 1 ? label : charts[0].title, .headings = {charts[0].x_label}, .folded = label};
  ChartRows rows;
  for (const Chart& chart : charts) {
    add_rows(chart, t.headings.size() - 1, rows);
    for (const ChartSeries& s : chart.series)
      t.headings.push_back(charts.size() == 1 ? (s.name.empty() ? chart.y_label : s.name)
                           : s.name.empty()   ? chart.title
                                              : chart.title + ", " + s.name);
  }
  const std::vector<std::string>* before = nullptr;
  for (auto& [at, values] : rows) {
    values.resize(t.headings.size() - 1);
    if (charts[0].style == ChartStyle::areas && before && values == *before) continue;
    before = &values;
    t.rows.push_back({charts[0].x_text(at.first)});
    t.rows.back().insert(t.rows.back().end(), values.begin(), values.end());
  }
  if (t.rows.size() < rows.size()) t.caption += ". Left out: rows with the values of the row before";
  for (const Chart& chart : charts) figure(chart, chart_svg, &chart == &charts.back() ? t : Table{});
}

void HtmlPage::heat_maps(std::vector<HeatMap> maps) {
  constexpr int kColumns = 150, kFewColumns = 60;
  std::vector<HeatMap> narrow = maps;
  for (HeatMap& map : narrow) map = for_phone(map);
  share_scales(maps, kColumns);
  share_scales(narrow, kFewColumns);
  Table t{.caption = "Operations by time", .headings = {"time from"}, .folded = "Operations by time as a table"};
  std::map<int, std::map<size_t, uint64_t>> counts;  // by bucket and map
  for (size_t i = 0; i < maps.size(); ++i) {
    t.headings.push_back(maps[i].title);
    for (const HeatMap::Cell& cell : maps[i].cells) counts[cell.bucket][i] += cell.count;
  }
  for (auto& [bucket, row] : counts) {
    t.rows.push_back({duration_cell(std::llround(std::pow(10, double(bucket) / HeatMap::kPerDecade)))});
    for (size_t i = 0; i < maps.size(); ++i) t.rows.back().push_back(count_cell(row[i]));
  }
  for (size_t i = 0; i < maps.size(); ++i)
    figure(heat_map_svg(maps[i]), heat_map_svg(narrow[i]), i + 1 == maps.size() ? t : Table{});
}

std::string HtmlPage::finish() {
  end_section();
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
      "{5}<link rel=\"icon\" href=\"data:,\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header><h1>{2}</h1>\n<nav "
      "aria-label=\"Contents\"><ul>\n{3}</ul></nav>"
      "</header>\n<main id=\"content\">\n{4}</main>\n</body>\n</html>\n",
      xml_text(title_), kPageStyle, isolated(title_), contents_, body_,
      refresh_ ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", refresh_) : "");
}

}  // namespace fsr
