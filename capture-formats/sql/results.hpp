// SPDX-License-Identifier: Apache-2.0
// The results database: the results of runs, one after the other, in a SQLite file that other tools can query. Its tables are
// described in docs/results.md.
//
//   ResultsDatabase db("r.sqlite");            // before the run: refuses what is no results database, and takes room
//   db.begin_run(facts);                       // a row of the table `run`; those begun by one object are a series
//   db.add("kinds", {{"kind", "read"}, ...});  // of that run
//   db.commit();                               // keeps what was added since the last commit
//
// The file contains only rows that were committed, however the program ends. A new file without a run is removed again. Several
// programs may add to the same file. One thread. Every member throws std::runtime_error "FILE: why".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "util/environment.hpp"

struct sqlite3;

namespace fsr {

using SqlValue = std::variant<int64_t, double, std::string, std::nullptr_t>;
// Values by name. A name is the same in SQL, JSON and CSV.
using Facts = std::vector<std::pair<std::string, SqlValue>>;

// The columns of the table `run` that say when, where and by which command a run was made. `started`: ns since the Unix epoch.
Facts origin_facts(const std::string& program, const std::string& command, int64_t started, const Environment& where);

// Returns the columns of origin_facts() for this process and the present time. Passwords are hidden in the command line, as in
// ps(1). `name`: "fsbench".
Facts own_origin(const std::string& name);

class ResultsDatabase {
 public:
  explicit ResultsDatabase(const std::string& path);
  ResultsDatabase();  // in memory, as long as it exists; ResultsReader can read it
  ~ResultsDatabase();

  void begin_run(const Facts& row);
  // The rows of one table all have the same columns.
  void add(std::string_view table, const Facts& row);
  void commit();

 private:
  friend class ResultsReader;
  sqlite3* connection() const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
