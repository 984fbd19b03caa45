// SPDX-License-Identifier: Apache-2.0
// libfstrace: the tables of a trace as a loadable SQLite extension.
//
//   .load libfstrace
//   create virtual table temp.ops using fstrace(ops, 'trace.zst');
#include <sqlite3ext.h>

#include "trace_tables.hpp"

extern "C" {
SQLITE_EXTENSION_INIT1

// The name that SQLite looks for in libfstrace.so.
__attribute__((visibility("default"))) int sqlite3_fstrace_init(sqlite3* db, char** error, const sqlite3_api_routines* api);

int sqlite3_fstrace_init(sqlite3* db, char**, const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  return fsr::register_trace_tables(db);
}
}
