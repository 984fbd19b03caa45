// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/utilities/utilities.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "workloads/vdbench/language/hosts.hpp"
#include "workloads/vdbench/language/values.hpp"

namespace fsr::vdbench {

namespace {

using FlatRow = std::vector<std::string>;

struct Flat {
  std::string name;
  FlatRow columns;
  std::vector<FlatRow> rows;

  size_t column(const std::string& wanted) const {
    const auto at = std::find_if(columns.begin(), columns.end(), [&](const std::string& c) { return same_word(c, wanted); });
    if (at != columns.end()) return size_t(at - columns.begin());
    throw_error("{}: no column '{}', expected one of {}", name, wanted, fmt::join(columns, " "));
  }
};

bool only_formats(const std::string& run) { return run.starts_with("format_for_") || run == "SD_format"; }

Flat read_flat(std::string name) {
  if (std::filesystem::is_directory(name)) name += "/flatfile.html";
  std::ifstream file(name);
  if (!file) throw std::runtime_error(name + ": " + strerror(errno));
  Flat flat{.name = name, .columns = {}, .rows = {}};
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with('*') || line.starts_with('<')) continue;
    FlatRow row = words_of(line);
    if (row.empty()) continue;
    if (flat.columns.empty()) {
      if (row[0] != "tod") throw_error("{}:{}: expected the names of columns, tod first", name, number);
      flat.columns = std::move(row);
      continue;
    }
    if (row.size() != flat.columns.size())
      throw_error("{}:{}: expected {} columns, not {}", name, number, flat.columns.size(), row.size());
    flat.rows.push_back(std::move(row));
  }
  if (flat.columns.empty()) throw std::runtime_error(name + ": expected a flatfile.html of vdbench, found no names of columns");
  const size_t run = flat.column("Run");
  std::erase_if(flat.rows, [run](const FlatRow& row) { return only_formats(row[run]); });
  return flat;
}

void keep_averages(Flat& flat) {
  std::erase_if(flat.rows, [at = flat.column("Interval")](const FlatRow& row) { return !row[at].starts_with("avg"); });
}

// Returns the name of each run, in order, with the values of its loops: "rd1 xfersize=4k". Takes them from the page of totals,
// because the flatfile lacks them. Without that page: the names in the flatfile.
FlatRow names_of(const Flat& flat) {
  constexpr std::string_view kStart = "Starting RD=", kLoops = "For loops: ";
  std::ifstream totals(std::filesystem::path(flat.name).replace_filename("totals.html"));
  FlatRow names;
  for (std::string line; std::getline(totals, line);) {
    const size_t start = line.find(kStart), semicolon = line.find(';', start), loops = line.find(kLoops, start);
    if (start == std::string::npos || loops == std::string::npos) continue;
    const size_t name = start + kStart.size(), values = loops + kLoops.size();
    const std::string text = line.substr(name, semicolon - name), of = line.substr(values, line.find('<', values) - values);
    if (!only_formats(text)) names.push_back(of == "None" ? text : text + " " + of);
  }
  if (names.size() == flat.rows.size()) return names;
  names.clear();
  for (const FlatRow& row : flat.rows) names.push_back(row[flat.column("Run")]);
  return names;
}

double number(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string change(double from, double to) { return from > 0 ? fmt::format("{:+.1f}%", 100 * (to - from) / from) : "n/a"; }

}  // namespace

std::string flat_csv(const FlatRequest& request) {
  Flat flat = read_flat(request.input);
  if (request.averages) keep_averages(flat);
  for (const auto& [column, value] : request.filters)
    std::erase_if(flat.rows, [at = flat.column(column), &value = value](const FlatRow& row) { return row[at] != value; });
  std::vector<size_t> chosen;
  for (const std::string& column : request.columns.empty() ? flat.columns : request.columns)
    chosen.push_back(flat.column(column));
  std::string text;
  auto add = [&](const FlatRow& row) {
    for (size_t i = 0; i < chosen.size(); ++i) text += (i ? "," : "") + row[chosen[i]];
    text += "\n";
  };
  add(flat.columns);
  for (const FlatRow& row : flat.rows) add(row);
  return text;
}

std::string compare_flat(const std::string& older, const std::string& newer) {
  Flat before = read_flat(older), after = read_flat(newer);
  keep_averages(before);
  keep_averages(after);
  const FlatRow names = names_of(before), new_names = names_of(after);
  std::multimap<std::string, const FlatRow*> by_name;  // keeps the order of equal names
  for (size_t i = 0; i < after.rows.size(); ++i) by_name.emplace(new_names[i], &after.rows[i]);
  size_t width = 23;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text = fmt::format("{:<{}} {:>12}{:>12}{:>9}{:>12}{:>12}{:>9}\n", "run", width, "old rate", "new rate", "delta",
                                 "old resp", "new resp", "delta");
  size_t missing = 0;
  for (size_t i = 0; i < before.rows.size(); ++i) {
    const FlatRow& row = before.rows[i];
    const std::string& name = names[i];
    const auto found = by_name.lower_bound(name);
    if (found == by_name.end() || found->first != name) {
      ++missing;
      continue;
    }
    const FlatRow& other = *found->second;
    const double rate = number(row[before.column("rate")]), resp = number(row[before.column("resp")]);
    const double new_rate = number(other[after.column("rate")]), new_resp = number(other[after.column("resp")]);
    text += fmt::format("{:<{}} {:>12.1f}{:>12.1f}{:>9}{:>12.3f}{:>12.3f}{:>9}\n", name, width, rate, new_rate,
                        change(rate, new_rate), resp, new_resp, change(resp, new_resp));
    by_name.erase(found);
  }
  if (missing) text += fmt::format("{} runs are in {} alone\n", missing, before.name);
  if (!by_name.empty()) text += fmt::format("{} runs are in {} alone\n", by_name.size(), after.name);
  return text;
}

}  // namespace fsr::vdbench
