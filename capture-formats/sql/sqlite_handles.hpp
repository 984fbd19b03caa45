// SPDX-License-Identifier: Apache-2.0
// Ownership of what SQLite hands out. Statements end before their connection.
#pragma once

#include <sqlite3.h>

#include <memory>

namespace fsr {

struct SqliteCloser {
  void operator()(sqlite3* connection) const { sqlite3_close(connection); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, SqliteCloser>;
using Statement = std::unique_ptr<sqlite3_stmt, SqliteCloser>;

}  // namespace fsr
