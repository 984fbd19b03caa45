// SPDX-License-Identifier: Apache-2.0
#include "trace_tables.hpp"

#include <exception>

#include "../trace/reader.hpp"
#include "../util/units.hpp"
#include "sqlite_api.hpp"

namespace fsr {

namespace {

struct Table : sqlite3_vtab {
  const TraceTable* kind = nullptr;
  std::string file;
};

struct Cursor : sqlite3_vtab_cursor {
  std::unique_ptr<TraceRows> rows;
};

// Runs what may throw on behalf of SQLite.
template <class Body>
int guarded(sqlite3_vtab* table, Body body) noexcept {
  try {
    body();
    return SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception& e) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", e.what());
    return SQLITE_ERROR;
  }
}

// An argument of CREATE VIRTUAL TABLE, which comes as it was typed.
std::string unquoted(std::string text) {
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0]) return text;
  const char quote = text[0];
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    out += text[i];
    if (text[i] == quote && text[i + 1] == quote) ++i;
  }
  return out;
}

int connect(sqlite3* db, void*, int argc, const char* const* argv, sqlite3_vtab** out, char** error) noexcept {
  if (argc != 5) {
    *error = sqlite3_mprintf("expected fstrace(TABLE, 'FILE')");
    return SQLITE_ERROR;
  }
  try {
    const std::string name = unquoted(argv[3]);
    std::string known;
    for (const TraceTable& kind : trace_tables()) {
      known += (known.empty() ? "" : ", ") + std::string(kind.name);
      if (name != kind.name) continue;
      const int rc = sqlite3_declare_vtab(db, ("create table x(" + std::string(kind.columns) + ")").c_str());
      if (rc != SQLITE_OK) return rc;
      auto table = std::make_unique<Table>();
      table->kind = &kind;
      table->file = unquoted(argv[4]);
      kind.scan(table->file);  // throws if the trace can't be opened
      *out = table.release();
      return SQLITE_OK;
    }
    *error = sqlite3_mprintf("no table '%s' in a trace; tables: %s", name.c_str(), known.c_str());
  } catch (const std::exception& e) {
    *error = sqlite3_mprintf("%s", e.what());
  }
  return SQLITE_ERROR;
}

int disconnect(sqlite3_vtab* table) noexcept {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

int best_index(sqlite3_vtab* table, sqlite3_index_info* info) noexcept {
  info->estimatedCost = 1e9;
  auto choose = static_cast<Table*>(table)->kind->best_index;
  return choose ? choose(info) : SQLITE_OK;
}

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** out) noexcept {
  return guarded(table, [&] {
    auto cursor = std::make_unique<Cursor>();
    const Table* t = static_cast<Table*>(table);
    cursor->rows = t->kind->scan(t->file);
    *out = cursor.release();
  });
}

int close_cursor(sqlite3_vtab_cursor* cursor) noexcept {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int number, const char* plan, int argc, sqlite3_value** argv) noexcept {
  return guarded(cursor->pVtab, [&] {
    static_cast<Cursor*>(cursor)->rows->begin(number, plan ? plan : "", std::vector<sqlite3_value*>(argv, argv + argc));
  });
}

int next_row(sqlite3_vtab_cursor* cursor) noexcept {
  return guarded(cursor->pVtab, [&] { static_cast<Cursor*>(cursor)->rows->next(); });
}

int at_end(sqlite3_vtab_cursor* cursor) noexcept { return static_cast<Cursor*>(cursor)->rows->at_end(); }

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int number) noexcept {
  return guarded(cursor->pVtab, [&] { static_cast<Cursor*>(cursor)->rows->column(context, number); });
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) noexcept {
  *out = static_cast<Cursor*>(cursor)->rows->row_id();
  return SQLITE_OK;
}

sqlite3_module module() {
  sqlite3_module m{};
  m.xCreate = connect;
  m.xConnect = connect;
  m.xBestIndex = best_index;
  m.xDisconnect = disconnect;
  m.xDestroy = disconnect;
  m.xOpen = open_cursor;
  m.xClose = close_cursor;
  m.xFilter = filter;
  m.xNext = next_row;
  m.xEof = at_end;
  m.xColumn = column;
  m.xRowid = row_id;
  return m;
}

}  // namespace

const std::vector<TraceTable>& trace_tables() {
  static const std::vector<TraceTable> kTables = {ops_table(),   files_table(), processes_table(),
                                                  names_table(), opens_table(), blocks_table()};
  return kTables;
}

int register_trace_tables(sqlite3* db) {
  static const sqlite3_module kModule = module();
  return sqlite3_create_module_v2(db, "fstrace", &kModule, nullptr, nullptr);
}

void log_damage(const std::string& file, const std::vector<TraceDamage>& damage) {
  for (const TraceDamage& d : damage)
    sqlite3_log(SQLITE_WARNING, "%s%s: %s", std::string(kDamageMark).c_str(), file.c_str(), d.what.c_str());
}

void set_text(sqlite3_context* context, std::string_view bytes) {
  const std::string text = json_text(bytes);
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

}  // namespace fsr
