// SPDX-License-Identifier: Apache-2.0
#include "results.hpp"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>

namespace fsr {

namespace {

constexpr int kApplicationId = 0x66737265;  // "fsre", in the SQLite header: tells our files from others

constexpr const char* kSchema = R"(
create table run(key text primary key, value) without rowid;
create table kinds(kind text primary key, issued int, ok int, matched int, differed int, permission int, uncompared int,
                   failed int, awaited int, approximate int, impossible int, refused int, bytes int) without rowid;
create table histograms(kind text, what text, low_ns int, high_ns int, count int);
create table intervals(elapsed_ns int, done int, in_flight int, differed int, bytes int, lateness_ns int);
create table mismatches(seq int, kind text, name text, object int, thread int, expected text, got text);
create table counters(name text primary key, value int) without rowid;
)";

struct Closer {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

}  // namespace

struct ResultsDatabase::Impl {
  std::string path, temporary;
  std::map<std::string, Statement, std::less<>> inserts;  // destroyed before the connection
  std::unique_ptr<sqlite3, Closer> db;
  bool committed = false;

  ~Impl() {
    inserts.clear();
    db.reset();
    if (!committed && !temporary.empty()) unlink(temporary.c_str());
  }
  [[noreturn]] void fail() const { throw std::runtime_error(path + ": " + (db ? sqlite3_errmsg(db.get()) : "out of memory")); }
  void execute(const std::string& sql) {
    if (sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }
  sqlite3_stmt* insert(std::string_view table, size_t columns) {
    auto found = inserts.find(table);
    if (found == inserts.end()) {
      std::string sql = "insert into " + std::string(table) + " values(?";
      for (size_t i = 1; i < columns; ++i) sql += ",?";
      sqlite3_stmt* made = nullptr;
      if (sqlite3_prepare_v2(db.get(), (sql + ")").c_str(), -1, &made, nullptr) != SQLITE_OK) fail();
      found = inserts.emplace(table, Statement(made)).first;
    }
    return found->second.get();
  }
};

ResultsDatabase::ResultsDatabase(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->temporary = path + ".partial-" + std::to_string(getpid());
  sqlite3* db = nullptr;
  int rc = sqlite3_open_v2(impl_->temporary.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  impl_->db.reset(db);
  if (const int error = db ? sqlite3_system_errno(db) : 0; rc == SQLITE_CANTOPEN && error)
    throw std::runtime_error(path + ": " + strerror(error));
  if (rc != SQLITE_OK) impl_->fail();
  // No journal: the file is thrown away unless it was completed.
  impl_->execute("pragma journal_mode = off; pragma synchronous = off; pragma application_id = " +
                 std::to_string(kApplicationId));
  impl_->execute("begin");
  impl_->execute(kSchema);
}

ResultsDatabase::~ResultsDatabase() = default;

void ResultsDatabase::create(const std::string& table) { impl_->execute("create table " + table); }

void ResultsDatabase::add(std::string_view table, const std::vector<SqlValue>& row) {
  sqlite3_stmt* s = impl_->insert(table, row.size());
  for (size_t i = 0; i < row.size(); ++i) {
    int at = int(i) + 1;
    if (auto* n = std::get_if<int64_t>(&row[i]))
      sqlite3_bind_int64(s, at, *n);
    else if (auto* d = std::get_if<double>(&row[i]))
      sqlite3_bind_double(s, at, *d);
    else {
      const std::string& text = std::get<std::string>(row[i]);
      sqlite3_bind_text(s, at, text.data(), int(text.size()), SQLITE_TRANSIENT);
    }
  }
  int rc = sqlite3_step(s);
  sqlite3_reset(s);
  if (rc != SQLITE_DONE) impl_->fail();
}

void ResultsDatabase::commit() {
  impl_->inserts.clear();
  impl_->execute("commit");
  impl_->db.reset();
  if (rename(impl_->temporary.c_str(), impl_->path.c_str()) != 0) throw std::runtime_error(impl_->path + ": " + strerror(errno));
  impl_->committed = true;
}

bool results_replaceable(const std::string& path) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0) return errno == ENOENT;
  if (!S_ISREG(s.st_mode)) return false;
  if (s.st_size == 0) return true;
  FILE* f = fopen(path.c_str(), "rb");
  if (!f) return false;
  unsigned char head[72] = {};
  bool whole = fread(head, 1, sizeof head, f) == sizeof head;
  fclose(f);
  uint32_t id = uint32_t(head[68]) << 24 | uint32_t(head[69]) << 16 | uint32_t(head[70]) << 8 | head[71];
  return whole && memcmp(head, "SQLite format 3", 16) == 0 && id == uint32_t(kApplicationId);
}

}  // namespace fsr
