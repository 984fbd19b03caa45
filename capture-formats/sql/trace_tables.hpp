// SPDX-License-Identifier: Apache-2.0
// SQLite virtual tables directly over a compressed trace. Read only; nothing is kept between queries.
//
//   create virtual table temp.NAME using fstrace(TABLE, 'FILE')
//
// FILE is a trace, or the name of a series of pieces. TABLE is one of
//   ops        one row an operation. Bounds on start and seq lead to the block through the index, and end the reading: a query
//              on a minute of a day reads that minute. op, pid, uid, object and handle are compared before a row is made.
//              path needs what was known of the tree by then: the checkpoint in front and the operations since.
//   files      one row an object: where it was last seen, operations, bytes, times. Reads all of the trace, as do
//   processes, names, opens
//   blocks     one row a block of the file, from its index: reads no block
//
// Times and durations are ns, sizes bytes. Text that is not UTF-8 is encoded as in JSON (docs/trace-format.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_context;
struct sqlite3_index_info;
struct sqlite3_value;

namespace fsr {

struct TraceDamage;

// Registers the module `fstrace` with a connection; returns SQLITE_OK or why not.
int register_trace_tables(sqlite3* db);

// The rows of one scan of a table. Failures are std::exception, which the module turns into SQLite's errors.
class TraceRows {
 public:
  virtual ~TraceRows() = default;
  // Goes to the first row. `plan` and the values are what best_index() asked for.
  virtual void begin(int columns_used, const char* plan, const std::vector<sqlite3_value*>& values) = 0;
  virtual bool at_end() const = 0;
  virtual void next() = 0;
  virtual void column(sqlite3_context* context, int number) = 0;
  virtual int64_t row_id() const = 0;
};

struct TraceTable {
  const char* name;
  const char* columns;  // as in CREATE TABLE
  // Says which constraints begin() can use; null: none.
  int (*best_index)(sqlite3_index_info* info);
  std::unique_ptr<TraceRows> (*scan)(const std::string& file);
};

const std::vector<TraceTable>& trace_tables();

// Definitions of the tables; each is in the file of its name.
TraceTable ops_table();
TraceTable blocks_table();
TraceTable files_table();
TraceTable processes_table();
TraceTable names_table();
TraceTable opens_table();

// Damage met while reading goes to SQLite's log (SQLITE_WARNING), each message with this in front; the rows are what can be read.
constexpr std::string_view kDamageMark = "damaged trace: ";
void log_damage(const std::string& file, const std::vector<TraceDamage>& damage);

void set_text(sqlite3_context* context, std::string_view bytes);  // the result of a column, encoded as above

}  // namespace fsr
