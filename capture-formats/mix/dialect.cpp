// SPDX-License-Identifier: Apache-2.0
#include "mix/dialect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fsr::mix {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// FreeBSD's cells of 13 characters touch when a name fills one.
std::vector<std::string_view> cells(std::string_view line, size_t width) {
  std::vector<std::string_view> names;
  for (size_t at = 0; at < line.size(); at += width) {
    std::string_view cell = line.substr(at, width);
    while (!cell.empty() && is_blank(cell.front())) cell.remove_prefix(1);
    while (!cell.empty() && is_blank(cell.back())) cell.remove_suffix(1);
    names.push_back(cell);
  }
  return names;
}

}  // namespace

Lines::Lines(const MixText& mix) : name_(mix.name), text_(mix.text) {
  for (size_t at = 0; at < text_.size();) {
    size_t end = text_.find('\n', at);
    if (end == std::string_view::npos) end = text_.size();
    std::string_view line = text_.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines_.push_back(line);
    at = end + 1;
  }
}

void Lines::fail(size_t line, std::string_view what) const {
  line = std::min(line, lines_.empty() ? 0 : lines_.size() - 1);
  throw MixError(fmt::format("{}:{}: bad mix format: {}", name_, line + 1, what));
}

Block::Block(unsigned version, bool client_side, std::string dialect, size_t at)
    : nfs_version(version),
      client(client_side),
      what(std::move(dialect)),
      line(at),
      counts(nfs_procedures(version).size()),
      found(nfs_procedures(version).size()) {}

void Block::add(std::string_view name, uint64_t count, const Lines& lines, size_t at) {
  const int i = nfs_procedure_alias(nfs_version, client, name);
  if (i < 0) {
    if (count > 0)
      notes.push_back(fmt::format("{} calls of '{}' ignored: not {} of NFSv{}", count, name.substr(0, 40),
                                  nfs_version == 4 ? "an operation" : "a procedure", nfs_version));
    return;
  }
  uint64_t total = 0;
  if (__builtin_add_overflow(counts[size_t(i)], count, &total) || __builtin_add_overflow(sum(), count, &rank))
    lines.fail(at, "the counts do not fit into 64 bits");
  counts[size_t(i)] = total;
  found[size_t(i)] = true;
}

uint64_t Block::sum() const {
  uint64_t total = 0;
  for (uint64_t n : counts)
    if (__builtin_add_overflow(total, n, &total)) return UINT64_MAX;
  return total;
}

const char* Block::first_missing() const {
  for (size_t i = 0; i < found.size(); ++i)
    if (!found[i]) return nfs_procedures(nfs_version)[i];
  return nullptr;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> list;
  for (size_t at = 0; at < line.size();) {
    while (at < line.size() && is_blank(line[at])) ++at;
    size_t end = at;
    while (end < line.size() && !is_blank(line[end])) ++end;
    if (end > at) list.push_back(line.substr(at, end - at));
    at = end;
  }
  return list;
}

bool is_name_row(std::string_view line) {
  const auto names = words(line);
  if (names.empty()) return false;
  return std::all_of(names.begin(), names.end(),
                     [](std::string_view name) { return is_letter(name.front()) && name.back() != ':' && name.back() != ')'; });
}

bool parse_number(std::string_view digits, uint64_t* number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  return error == std::errc() && end == digits.data() + digits.size();
}

bool parse_counts(std::string_view line, std::vector<uint64_t>* counts) {
  counts->clear();
  size_t at = 0;
  auto blanks = [&] {
    const size_t from = at;
    while (at < line.size() && is_blank(line[at])) ++at;
    return at > from;
  };
  auto digits = [&] {
    const size_t from = at;
    while (at < line.size() && is_digit(line[at])) ++at;
    return line.substr(from, at - from);
  };
  for (blanks(); at < line.size(); blanks()) {
    std::string_view count = digits();
    if (count.empty()) return false;
    if (at < line.size() && line[at] == '%') {
      // Linux prints a count of eight or more digits and its 100 % without a blank between.
      if (count.size() < 11 || !count.ends_with("100")) return false;
      count.remove_suffix(3);
      ++at;
    } else {
      const size_t after = at;
      const bool apart = blanks();
      const std::string_view percent = digits();
      if (apart && !percent.empty() && at < line.size() && line[at] == '%')
        ++at;
      else
        at = after;
      if (at == after && at < line.size() && !is_blank(line[at])) return false;
    }
    uint64_t n = 0;
    if (!parse_number(count, &n)) return false;
    counts->push_back(n);
  }
  return !counts->empty();
}

CellRow read_row(const Lines& lines, size_t at) {
  CellRow row;
  row.names = words(lines[at]);
  if (at + 1 >= lines.size()) lines.fail(at, "unexpected EOF: the counts are missing");
  const bool numbers = parse_counts(lines[at + 1], &row.counts);
  if (numbers && row.names.size() != row.counts.size()) {
    constexpr size_t kFreeBsdCell = 13;
    auto wide = cells(lines[at], kFreeBsdCell);
    if (wide.size() == row.counts.size() && lines[at].size() == wide.size() * kFreeBsdCell) row.names = std::move(wide);
  }
  if (!numbers || row.names.size() != row.counts.size())
    lines.fail(at + 1, fmt::format("can't find {} op values{}: expected one count for each name above", row.names.size(),
                                   numbers ? fmt::format(" ({} found)", row.counts.size()) : std::string()));
  return row;
}

size_t add_rows(const Lines& lines, size_t at, Block& block) {
  for (; at < lines.size() && is_name_row(lines[at]); at += 2) {
    const CellRow row = read_row(lines, at);
    for (size_t i = 0; i < row.names.size(); ++i) block.add(row.names[i], row.counts[i], lines, at + 1);
  }
  return at;
}

bool any_line_begins(std::string_view text, std::span<const std::string_view> prefixes) {
  for (size_t at = 0; at < text.size();) {
    while (at < text.size() && is_blank(text[at])) ++at;
    const std::string_view rest = text.substr(at);
    for (std::string_view prefix : prefixes)
      if (rest.starts_with(prefix)) return true;
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return false;
    at = end + 1;
  }
  return false;
}

}  // namespace fsr::mix
