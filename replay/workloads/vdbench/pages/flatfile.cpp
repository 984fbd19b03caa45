// SPDX-License-Identifier: Apache-2.0
// Writes flatfile.html: a line for each interval and average, in columns separated by blanks, for parseflat and users' scripts.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "workloads/vdbench/pages/columns.hpp"
#include "workloads/vdbench/pages/flat_columns.hpp"
#include "workloads/vdbench/pages/output_directory.hpp"
#include "workloads/vdbench/pages/run_page.hpp"

namespace fsr::vdbench {

namespace {

class FlatFile final : public RunPage {
 public:
  // `of_files`: adds the columns of runs on trees of files.
  FlatFile(const std::string& directory, bool of_files, Layout layout);
  void interval(const RunRecord& record) override;
  void end(const RunRecord& record) override;

 private:
  void put(const RunRecord& record, const RunLine& line);
  std::string cell(const FlatColumn& column, const std::string& text) const;

  const Layout layout_;
  const std::vector<FlatColumn> columns_;
  Page page_;
};

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

}  // namespace

std::unique_ptr<RunPage> flatfile_page(const std::string& directory, bool of_files, Layout layout) {
  return std::make_unique<FlatFile>(directory, of_files, layout);
}

}  // namespace fsr::vdbench
