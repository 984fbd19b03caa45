// SPDX-License-Identifier: Apache-2.0
// fstrace sql: a query over the tables of a trace, or all of them as a plain SQLite database.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <set>

#include "json_out.hpp"
#include "sql/sqlite_handles.hpp"
#include "sql/trace_tables.hpp"
#include "subcommand.hpp"
#include "trace/spool.hpp"
#include "trace_output.hpp"
#include "util/nearest.hpp"
#include "util/output_file.hpp"
#include "util/units.hpp"

namespace fsr::fstrace {

namespace {

struct SqlOptions {
  std::string file, query, exported;
  bool json = false, csv = false, force = false;
};

// SQLite's message, with the names that there are instead of an unknown one.
std::string message_of(sqlite3* db) {
  const std::string what = db ? sqlite3_errmsg(db) : "out of memory";
  constexpr std::string_view kNoTable = "no such table: ";
  if (!what.starts_with(kNoTable)) return "sql: " + what;
  std::vector<std::string> names;
  for (const TraceTable& t : trace_tables()) names.push_back(t.name);
  return "sql: " + what + "; " + choices(std::string_view(what).substr(kNoTable.size()), names);
}

[[noreturn]] void fail(sqlite3* db) { throw std::runtime_error(message_of(db)); }

void execute(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(db);
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

// A name under which the trace can be opened more than once.
std::string lasting_name(const std::string& file) {
  struct stat st;
  if (file != "-" && (stat(file.c_str(), &st) < 0 || !S_ISFIFO(st.st_mode))) return file;
  const int fd = file == "-" ? dup(STDIN_FILENO) : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const int spooled = fd < 0 ? -1 : spool_to_file(fd);
  if (spooled < 0) throw std::runtime_error(file + ": " + strerror(errno));
  close(fd);
  return "/proc/self/fd/" + std::to_string(spooled);
}

// Collects the messages that SQLite logs about damaged traces, each once.
void collect_damage(void* seen, int code, const char* message) {
  if (code == SQLITE_WARNING && std::string_view(message).starts_with(kDamageMark))
    static_cast<std::set<std::string>*>(seen)->insert(message + kDamageMark.size());
}

Database open_tables(const std::string& file) {
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open(":memory:", &raw);
  Database db(raw);
  if (rc != SQLITE_OK || register_trace_tables(raw) != SQLITE_OK) fail(raw);
  const std::string name = lasting_name(file);
  report_lacks(file, open_trace(name)->closing());  // says in its own words what is wrong with it
  for (const TraceTable& t : trace_tables())
    execute(raw, fmt::format("create virtual table temp.{0} using fstrace({0}, {1})", t.name, quoted(name)));
  return db;
}

void csv_field(fmt::memory_buffer& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return out.append(text);
  out.push_back('"');
  for (char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

std::string_view text_of(sqlite3_stmt* s, int i) {
  const unsigned char* text = sqlite3_column_text(s, i);
  return {text ? reinterpret_cast<const char*>(text) : "", size_t(sqlite3_column_bytes(s, i))};
}

void print_row(fmt::memory_buffer& out, sqlite3_stmt* s, const SqlOptions& options) {
  const int columns = sqlite3_column_count(s);
  if (options.json) {
    JsonOut json(out);
    json.open('{');
    for (int i = 0; i < columns; ++i) {
      const int type = sqlite3_column_type(s, i);
      json.key(sqlite3_column_name(s, i));
      if (type == SQLITE_NULL)
        json.number("null");
      else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
        json.number(text_of(s, i));
      else
        json.utf8(text_of(s, i));
    }
    json.close('}');
  } else {
    for (int i = 0; i < columns; ++i) {
      if (i) out.push_back(options.csv ? ',' : '\t');
      if (options.csv)
        csv_field(out, text_of(s, i));
      else
        out.append(escape_text(text_of(s, i)));
    }
  }
  out.push_back('\n');
}

void print_names(fmt::memory_buffer& out, sqlite3_stmt* s, const SqlOptions& options) {
  if (options.json) return;
  for (int i = 0; i < sqlite3_column_count(s); ++i) {
    if (i) out.push_back(options.csv ? ',' : '\t');
    csv_field(out, sqlite3_column_name(s, i));
  }
  out.push_back('\n');
}

// Several statements, one after the other. Returns the exit status.
int query(sqlite3* db, const SqlOptions& options) {
  constexpr size_t kFlush = 1 << 16;
  fmt::memory_buffer out;
  bool printed = false;
  auto flush = [&] {
    printed |= out.size() > 0;
    fwrite(out.data(), 1, out.size(), stdout);
    out.clear();
  };
  for (const char* rest = options.query.c_str(); *rest;) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db, rest, -1, &raw, &rest) != SQLITE_OK) fail(db);
    Statement s(raw);
    if (!raw) continue;  // a comment
    if (sqlite3_column_count(raw) > 0) print_names(out, raw, options);
    int rc;
    while ((rc = sqlite3_step(raw)) == SQLITE_ROW) {
      print_row(out, raw, options);
      if (out.size() >= kFlush) flush();
    }
    if (rc != SQLITE_DONE) {
      if (!printed) fail(db);
      flush();
      fmt::print(stderr, "fstrace: {}\n", message_of(db));
      return 1;
    }
  }
  flush();
  return 0;
}

void export_tables(sqlite3* db, const SqlOptions& options) {
  OutputFile file(options.exported, options.force, Readers::owner);
  execute(db, "attach " + quoted(file.temporary()) +
                  " as plain; pragma plain.journal_mode = off; pragma plain.synchronous = off; begin");
  for (const TraceTable& t : trace_tables()) execute(db, fmt::format("create table plain.{0} as select * from temp.{0}", t.name));
  execute(db, "create index plain.ops_start on ops(start); commit; detach plain");
  file.commit();
}

int sql(const SqlOptions& options) {
  if (options.query.empty() && options.exported.empty())
    throw std::runtime_error("sql: expected a query, or --export (tables: ops, files, processes, names, opens, blocks)");
  std::set<std::string> damage;
  sqlite3_config(SQLITE_CONFIG_LOG, collect_damage, &damage);
  Database db = open_tables(options.file);
  if (!options.exported.empty()) export_tables(db.get(), options);
  const int status = query(db.get(), options);
  fflush(stdout);
  for (const std::string& what : damage) fmt::print(stderr, "fstrace: {}\n", what);
  return damage.empty() ? status : 1;
}

}  // namespace

Run add_sql(Command& command) {
  auto options = std::make_shared<SqlOptions>();
  command.add("FILE", options->file, "the trace, or - for standard input").required();
  command.add("QUERY", options->query, "SQL over the tables ops, files, processes, names, opens, blocks");
  command.add("--export", options->exported, "write all tables into this new SQLite database");
  command.flag("--force", options->force, "replace an existing database");
  const Option json = command.flag("--json", options->json, "print one JSON object per row");
  command.flag("--csv", options->csv, "print comma-separated values").excludes(json);
  return [options] { return sql(*options); };
}

}  // namespace fsr::fstrace
