// SPDX-License-Identifier: Apache-2.0
#include "top_screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

// Columns behind the name. Each is as wide as its largest usual value, with a space in front.
constexpr std::array<std::pair<const char*, size_t>, 5> kColumns{
    {{"op/s", 9}, {"in flight", 9}, {"p50", 12}, {"p99", 12}, {"data/s", 10}}};

// Returns the length in bytes of the first character of `text`, which is valid UTF-8.
size_t character_bytes(std::string_view text) {
  size_t n = 1;
  while (n < text.size() && (uint8_t(text[n]) & 0xC0) == 0x80) ++n;
  return n;
}

// Returns the columns that a terminal gives to a character: two for those of East Asian scripts and for pictures.
size_t character_columns(std::string_view character) {
  constexpr std::pair<uint32_t, uint32_t> kWide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                                                     {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0x1F300, 0x3FFFF}};
  uint32_t code = uint8_t(character[0]);
  if (character.size() > 1) code &= 0x7Fu >> character.size();
  for (const char c : character.substr(1)) code = code << 6 | (uint8_t(c) & 0x3F);
  return std::any_of(std::begin(kWide), std::end(kWide),
                     [code](auto range) { return code >= range.first && code <= range.second; })
             ? 2
             : 1;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (size_t n; !text.empty(); text.remove_prefix(n)) {
    n = character_bytes(text);
    columns += character_columns(text.substr(0, n));
  }
  return columns;
}

std::string shortened(const std::string& text, size_t columns, bool keeps_end) {
  if (columns_of(text) <= columns) return text;
  std::string_view rest = text;
  size_t taken = 1;  // the ellipsis
  if (keeps_end) {
    for (size_t whole = columns_of(text); whole + taken > columns;) {
      const size_t n = character_bytes(rest);
      whole -= character_columns(rest.substr(0, n));
      rest.remove_prefix(n);
    }
    return "…" + std::string(rest);
  }
  size_t bytes = 0;
  for (size_t n; bytes < text.size(); bytes += n) {
    n = character_bytes(rest.substr(bytes));
    taken += character_columns(rest.substr(bytes, n));
    if (taken > columns) break;
  }
  return text.substr(0, bytes) + "…";
}

double value(const Measure& m, TopSort sort) {
  if (sort == TopSort::bytes) return double(m.read_bytes + m.written_bytes);
  return sort == TopSort::time ? m.busy() : double(m.operations);
}

class Screen {
 public:
  explicit Screen(TopScreen screen) : s_(std::move(screen)), span_(double(std::max<int64_t>(1, s_.to - s_.from))) {}

  std::string text() {
    line(fmt::format("{}: {}; {} to {}", shortened(escape_text(s_.trace), s_.columns / 2, true), s_.state,
                     format_duration(s_.from), format_duration(s_.to)));
    const Measure& all = s_.total;
    if (!all.operations)
      line("no operation in this time");
    else
      line(fmt::format("{} operations, {} op/s, {} failed; read {}/s, written {}/s", format_count(all.operations),
                       per_second(double(all.operations)), format_count(all.failed), bytes_per_second(all.read_bytes),
                       bytes_per_second(all.written_bytes)));
    for (TopTable& table : s_.tables) add(table);
    return std::move(out_);
  }

 private:
  std::string per_second(double n) const {
    const double rate = n * 1e9 / span_;
    return rate > 0 && rate < 10 ? fmt::format("{:.2f}", rate) : format_count(uint64_t(rate + 0.5));
  }
  std::string bytes_per_second(uint64_t bytes) const { return format_size(uint64_t(double(bytes) * 1e9 / span_ + 0.5)); }

  void line(const std::string& text) { out_ += shortened(text, s_.columns, false) + "\n"; }

  void add(TopTable& table) {
    std::stable_sort(table.rows.begin(), table.rows.end(), [this](const TopRow& a, const TopRow& b) {
      return value(*a.measure, s_.sort) > value(*b.measure, s_.sort);
    });
    size_t name_columns = s_.columns;
    for (const auto& [name, width] : kColumns) name_columns -= width + 1;
    auto row = [&](const std::string& name, const std::array<std::string, kColumns.size()>& cells) {
      std::string text = shortened(name, name_columns, table.keeps_end);
      text.append(name_columns - columns_of(text), ' ');
      for (size_t i = 0; i < cells.size(); ++i) text += fmt::format(" {:>{}}", cells[i], kColumns[i].second);
      line(text);
    };
    std::array<std::string, kColumns.size()> headings;
    for (size_t i = 0; i < headings.size(); ++i) headings[i] = kColumns[i].first;
    out_ += "\n";
    row(table.heading, headings);
    for (size_t i = 0; i < std::min(table.rows.size(), s_.most); ++i) {
      const Measure& m = *table.rows[i].measure;
      auto time = [&](double q) { return m.latency.count() ? format_duration(m.latency.quantile(q)) : "-"; };
      row(escape_text(table.rows[i].name),
          {per_second(double(m.operations)), fmt::format("{:.2f}", m.busy() / span_), time(0.5), time(0.99),
           m.reads + m.writes ? bytes_per_second(m.read_bytes + m.written_bytes) : "-"});
    }
  }

  TopScreen s_;
  const double span_;  // ns
  std::string out_;
};

}  // namespace

std::string top_text(TopScreen screen) {
  screen.columns = std::max<size_t>(screen.columns, 80);
  return Screen(std::move(screen)).text();
}

}  // namespace fsr::fstrace
