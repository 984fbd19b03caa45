// SPDX-License-Identifier: Apache-2.0
#include "workloads/vdbench/pages/flatfile.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "workloads/vdbench/pages/columns.hpp"

namespace fsr::vdbench {

FlatFile::FlatFile(const std::string& directory, bool of_files, Layout layout)
    : layout_(layout), columns_(flat_columns(of_files, layout)), page_(directory, "flatfile") {
  std::string text =
      "*\n* Columns that are separated by blanks: after these lines one with their names, then one for each interval and "
      "average.\n"
      "* 'fsbench vdbench parseflat' makes CSV of them.\n*\n";
  std::string names = fmt::format("{:>12} {:>23}", "tod", "timestamp");
  for (const FlatColumn& column : columns_) {
    text += fmt::format("* {:<16}: {}\n", column.name, column.words);
    names += cell(column, column.name);
  }
  page_.put(text + "* 'n/a'           : Data not available, or different among workloads.\n* \n" + names + " \n");
}

// 5.04.07 has a single blank between columns, which some programs rely on. Earlier versions align them.
std::string FlatFile::cell(const FlatColumn& column, const std::string& text) const {
  constexpr size_t kLeast = 10;
  return fmt::format(" {:>{}}", text, layout_ == Layout::v50407 ? 0 : std::max(kLeast, column.name.size()));
}

void FlatFile::put(const RunRecord& record, const RunLine& line) {
  const time_t second = line.wall / 1'000'000'000;
  std::string text = fmt::format("{} {:%m/%d/%Y-%H:%M:%S-%Z}", clock_text(line.wall), fmt::localtime(second));
  for (const FlatColumn& column : columns_) text += cell(column, column.value(record, line));
  page_.put(html_text(text) + " \n");
}

void FlatFile::interval(const RunRecord& record) { put(record, record.latest); }
void FlatFile::end(const RunRecord& record) { put(record, record.average); }

}  // namespace fsr::vdbench
