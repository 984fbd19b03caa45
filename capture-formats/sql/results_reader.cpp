// SPDX-License-Identifier: Apache-2.0
#include "results_reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "sql/results_schema.hpp"
#include "sql/sqlite_handles.hpp"

namespace fsr {

const SqlValue* ResultRow::find(std::string_view name) const {
  auto it = std::find_if(facts_.begin(), facts_.end(), [&](const auto& fact) { return fact.first == name; });
  return it == facts_.end() ? nullptr : &it->second;
}

bool ResultRow::is_text(std::string_view name) const {
  const SqlValue* value = find(name);
  return value && std::holds_alternative<std::string>(*value);
}

std::string ResultRow::text(std::string_view name) const {
  const SqlValue* value = find(name);
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? *text : "";
}

int64_t ResultRow::number(std::string_view name) const {
  const SqlValue* value = find(name);
  const auto* number = value ? std::get_if<int64_t>(value) : nullptr;
  constexpr double kMost = 9.2e18;  // nearly the largest int64_t
  return number ? *number : int64_t(std::clamp(real(name), -kMost, kMost));
}

double ResultRow::real(std::string_view name) const {
  const SqlValue* value = find(name);
  if (!value) return 0;
  if (const auto* whole = std::get_if<int64_t>(value)) return double(*whole);
  const auto* real = std::get_if<double>(value);
  return real && std::isfinite(*real) ? *real : 0;
}

struct ResultsReader::Impl {
  std::string path;
  Database own;  // null: another object has the connection
  sqlite3* db = nullptr;
  // Rows of the run of which a histogram was asked for last: a page asks for one of each kind. 0: none.
  int64_t kept_run = 0;
  std::vector<ResultRow> kept_distributions, kept_histograms;

  [[noreturn]] void fail(const std::string& why) const { throw std::runtime_error(path + ": " + why); }
  [[noreturn]] void fail(int status) const { fail(status == SQLITE_NOTADB ? "not a results database" : sqlite3_errmsg(db)); }

  std::vector<ResultRow> query(const std::string& sql, int64_t run) {
    sqlite3_stmt* prepared = nullptr;
    const int rc = sqlite3_prepare_v2(db, sql.c_str(), -1, &prepared, nullptr);
    const Statement statement(prepared);
    if (rc != SQLITE_OK) fail(rc);
    sqlite3_bind_int64(statement.get(), 1, run);
    std::vector<ResultRow> rows;
    int step;
    while ((step = sqlite3_step(statement.get())) == SQLITE_ROW) {
      Facts facts;
      for (int i = 0; i < sqlite3_column_count(statement.get()); ++i) {
        const char* name = sqlite3_column_name(statement.get(), i);
        const int type = sqlite3_column_type(statement.get(), i);
        if (type == SQLITE_INTEGER) facts.emplace_back(name, int64_t(sqlite3_column_int64(statement.get(), i)));
        if (type == SQLITE_FLOAT) facts.emplace_back(name, sqlite3_column_double(statement.get(), i));
        if (type == SQLITE_TEXT)
          facts.emplace_back(name, std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), i)),
                                               size_t(sqlite3_column_bytes(statement.get(), i))));
      }
      rows.emplace_back(std::move(facts));
    }
    if (step != SQLITE_DONE) fail(step);
    return rows;
  }
};

bool is_results_database(const std::string& path) {
  constexpr std::string_view kSqlite("SQLite format 3\0", 16);
  constexpr size_t kApplicationAt = 68;  // four bytes, big endian (SQLite, Database File Format, 1.3)
  uint8_t head[kApplicationAt + 4] = {};
  std::ifstream in(path, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(head), sizeof head)) return false;
  uint32_t application = 0;
  for (size_t i = kApplicationAt; i < sizeof head; ++i) application = application << 8 | head[i];
  return memcmp(head, kSqlite.data(), kSqlite.size()) == 0 && application == kResultsApplication;
}

ResultsReader::ResultsReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  struct stat st;
  if (stat(path.c_str(), &st) != 0) impl_->fail(strerror(errno));
  const int rc = sqlite3_open_v2(path.c_str(), &impl_->db, SQLITE_OPEN_READONLY, nullptr);
  impl_->own.reset(impl_->db);
  if (rc != SQLITE_OK) impl_->fail(impl_->db ? sqlite3_errmsg(impl_->db) : "out of memory");
  if (impl_->query("pragma application_id", 0).at(0).number("application_id") != kResultsApplication)
    impl_->fail("not a results database");
  if (impl_->query("pragma user_version", 0).at(0).number("user_version") != kResultsVersion)
    impl_->fail("holds results of another version of this program; read the file with that version");
}

ResultsReader::ResultsReader(const ResultsDatabase& database) : impl_(std::make_unique<Impl>()) {
  impl_->path = "results in memory";
  impl_->db = database.connection();
}

ResultsReader::~ResultsReader() = default;

const std::string& ResultsReader::path() const { return impl_->path; }

std::vector<ResultRow> ResultsReader::runs() { return impl_->query("select * from run order by id", 0); }

std::vector<ResultRow> ResultsReader::rows(std::string_view table, int64_t run) {
  return impl_->query("select * from " + std::string(table) + " where run = ?1 order by rowid", run);
}

Histogram ResultsReader::histogram(int64_t run, std::string_view kind, std::string_view what) {
  auto wanted = [&](const ResultRow& row) { return row.text("kind") == kind && row.text("what") == what; };
  int64_t most = INT64_MAX;
  if (impl_->kept_run != run) {
    impl_->kept_distributions = rows("distributions", run);
    impl_->kept_histograms = rows("histograms", run);
    impl_->kept_run = run;
  }
  for (const ResultRow& row : impl_->kept_distributions)
    if (wanted(row)) most = row.number("max_ns");
  Histogram h;
  for (const ResultRow& row : impl_->kept_histograms)
    if (wanted(row)) h.add(std::min(row.number("high_ns"), most), uint64_t(row.number("count")));
  return h;
}

}  // namespace fsr
