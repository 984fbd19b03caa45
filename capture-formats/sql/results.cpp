// SPDX-License-Identifier: Apache-2.0
#include "results.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>

#include "sql/results_schema.hpp"
#include "sql/sqlite_handles.hpp"

namespace fsr {

namespace {

constexpr int kTimeout = 60'000;  // ms that another program may take for its rows
constexpr off_t kRoom = 1 << 20;  // bytes that an ordinary run's rows and their journal take, and more

// A group has the runs of one program and input on one target at one load: what is the same but for chance.
constexpr const char* kGroup = R"(
with one as (select * from run where id = {0}),
     alike as (select run.id from run, one where run.id <= one.id and run.input is one.input and run.target is one.target
       and run.label is one.label and run.timing is one.timing and run.ordering is one.ordering and run.scale is one.scale
       and run.clones is one.clones and run.asked_per_s is one.asked_per_s and run.streams is one.streams)
update run set run_group = (select min(id) from alike), round = (select count(*) from alike) where id = {0})";

}  // namespace

Facts origin_facts(const std::string& program, const std::string& command, int64_t started, const Environment& where) {
  return {{"started", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(time_t(started / 1'000'000'000)))},
          {"started_ns", started},
          {"program", program},
          {"command", command},
          {"host", where.host},
          {"kernel", where.kernel},
          {"cpu", where.cpu},
          {"cpus", int64_t(where.cpus)},
          {"memory_bytes", int64_t(where.memory)},
          {"directory", where.directory},
          {"directory_mount", mount_text(".")}};
}

Facts own_origin(const std::string& name) {
  const auto now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  return origin_facts(fmt::format("{} {}{}{}", name, FSR_VERSION, *kCommit ? " " : "", kCommit), command_text(own_command()), now,
                      environment());
}

struct ResultsDatabase::Impl {
  std::string path;
  std::map<std::string, Statement, std::less<>> inserts;  // destroyed before the connection
  Database db;
  int room = -1;  // a file without a name, as large as what is to be written
  int64_t run = 0, series = 0;
  bool made = false;   // the file
  bool begun = false;  // a transaction

  ~Impl() {
    if (room >= 0) close(room);
    inserts.clear();
    db.reset();
    if (made) unlink(path.c_str());
  }

  [[noreturn]] void fail(const std::string& why) const { throw std::runtime_error(path + ": " + why); }
  [[noreturn]] void fail() const { fail(db ? sqlite3_errmsg(db.get()) : "out of memory"); }

  void execute(const std::string& sql) {
    if (sqlite3_exec(db.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
  }

  int64_t number(const char* sql) {
    sqlite3_stmt* made_statement = nullptr;
    const int prepared = sqlite3_prepare_v2(db.get(), sql, -1, &made_statement, nullptr);
    const Statement statement(made_statement);
    if (prepared != SQLITE_OK || sqlite3_step(statement.get()) != SQLITE_ROW) fail();
    return sqlite3_column_int64(statement.get(), 0);
  }

  void connect(const char* name) {
    sqlite3* opened = nullptr;
    const int rc = sqlite3_open_v2(name, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    db.reset(opened);
    if (const int error = db ? sqlite3_system_errno(db.get()) : 0; rc == SQLITE_CANTOPEN && error) fail(strerror(error));
    if (rc != SQLITE_OK) fail();
  }

  void open() {
    struct stat st;
    const bool there = stat(path.c_str(), &st) == 0;
    if (there && !S_ISREG(st.st_mode)) fail("exists and is not a results database; name another file");
    connect(path.c_str());
    made = !there;
    sqlite3_busy_timeout(db.get(), kTimeout);
  }

  // Creates the tables of a new file, or checks that those of an existing one are a results database's.
  void look_at_tables() {
    if (sqlite3_exec(db.get(), "begin immediate", nullptr, nullptr, nullptr) == SQLITE_NOTADB)
      fail("exists and is not a results database; name another file");
    if (!sqlite3_get_autocommit(db.get())) {
      if (number("select count(*) from sqlite_master") == 0) {
        execute("pragma application_id = " + std::to_string(kResultsApplication));
        execute("pragma user_version = " + std::to_string(kResultsVersion));
        execute(kResultsSchema);
      } else if (number("pragma application_id") != kResultsApplication) {
        fail("exists and is not a results database; name another file");
      } else if (number("pragma user_version") != kResultsVersion) {
        fail("holds results of another version of this program; name another file");
      }
      execute("commit");
    } else {
      fail();
    }
  }

  // Reserves disk space, so that the results of the run fit even if the disk gets full during the run.
  void take_room() {
    std::string name = path + ".room-XXXXXX";
    room = mkostemp(name.data(), O_CLOEXEC);
    if (room < 0) fail(strerror(errno));
    // The name goes last, because some 9P servers know nothing of an open file that has no name any more.
    const int error = posix_fallocate(room, 0, kRoom);
    unlink(name.c_str());
    if (error) fail(strerror(error));
  }

  void give_room() {
    if (room >= 0) close(room);
    room = -1;
  }

  void begin() {
    if (begun) return;
    give_room();
    execute("begin immediate");
    begun = true;
  }

  sqlite3_stmt* insert(std::string_view table, const Facts& row) {
    auto found = inserts.find(table);
    if (found == inserts.end()) {
      std::string sql = "insert into " + std::string(table) + "(", marks;
      for (const auto& [name, value] : row) {
        sql += (marks.empty() ? "" : ",") + name;
        marks += marks.empty() ? "?" : ",?";
      }
      sqlite3_stmt* statement = nullptr;
      if (sqlite3_prepare_v2(db.get(), (sql + ") values(" + marks + ")").c_str(), -1, &statement, nullptr) != SQLITE_OK) fail();
      found = inserts.emplace(table, Statement(statement)).first;
    }
    return found->second.get();
  }

  void add(std::string_view table, const Facts& row) {
    begin();
    sqlite3_stmt* s = insert(table, row);
    int at = 0;
    for (const auto& [name, value] : row) {
      ++at;
      if (auto* n = std::get_if<int64_t>(&value))
        sqlite3_bind_int64(s, at, *n);
      else if (auto* d = std::get_if<double>(&value))
        sqlite3_bind_double(s, at, *d);
      else if (auto* text = std::get_if<std::string>(&value))
        sqlite3_bind_text(s, at, text->data(), int(text->size()), SQLITE_TRANSIENT);
      else
        sqlite3_bind_null(s, at);
    }
    const int rc = sqlite3_step(s);
    sqlite3_reset(s);
    if (rc != SQLITE_DONE) roll_back();
  }

  // Drops what was added since the last commit, and throws.
  [[noreturn]] void roll_back() {
    const std::string why = sqlite3_errmsg(db.get());
    sqlite3_exec(db.get(), "rollback", nullptr, nullptr, nullptr);
    begun = false;
    fail(why);
  }
};

ResultsDatabase::ResultsDatabase(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->open();
  impl_->look_at_tables();
  impl_->take_room();
}

ResultsDatabase::ResultsDatabase() : impl_(std::make_unique<Impl>()) {
  impl_->path = "results in memory";
  impl_->connect(":memory:");
  impl_->look_at_tables();
}

ResultsDatabase::~ResultsDatabase() = default;

sqlite3* ResultsDatabase::connection() const { return impl_->db.get(); }

void ResultsDatabase::begin_run(const Facts& row) {
  // The columns of two inputs' runs differ.
  impl_->inserts.erase("run");
  impl_->add("run", row);
  impl_->run = sqlite3_last_insert_rowid(impl_->db.get());
  if (!impl_->series) impl_->series = impl_->run;
  impl_->execute(fmt::format("update run set series = {} where id = {}", impl_->series, impl_->run));
  impl_->execute(fmt::format(kGroup, impl_->run));
}

void ResultsDatabase::add(std::string_view table, const Facts& row) {
  Facts whole{{"run", impl_->run}};
  whole.insert(whole.end(), row.begin(), row.end());
  impl_->add(table, whole);
}

void ResultsDatabase::commit() {
  if (!impl_->begun) return;
  if (sqlite3_exec(impl_->db.get(), "commit", nullptr, nullptr, nullptr) != SQLITE_OK) impl_->roll_back();
  impl_->begun = false;
  impl_->made = false;  // stays
}

}  // namespace fsr
