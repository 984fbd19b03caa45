// SPDX-License-Identifier: Apache-2.0
// The results database: what runs measured, one behind the other, as a SQLite file that other tools can query. docs/results.md
// describes its tables for users.
//
//   ResultsDatabase db("r.sqlite");            // before the run: refuses what is no results database, and takes room
//   db.begin_run(facts);                       // a row of the table `run`; those begun by one object are a series
//   db.add("kinds", {{"kind", "read"}, ...});  // of that run
//   db.commit();                               // keeps what was added since the last commit
//
// What was not committed is not in the file, whatever ends the program; a file that was made here and got no run is removed
// again. Several programs may add to the same file. One thread. Every member throws std::runtime_error "FILE: why".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "util/environment.hpp"

namespace fsr {

using SqlValue = std::variant<int64_t, double, std::string>;
// What is known of something, by the names that it has in SQL, JSON and CSV alike.
using Facts = std::vector<std::pair<std::string, SqlValue>>;

// When, where and by what a run was made, as the columns of the table `run`. `started`: ns since the Unix epoch.
Facts origin_facts(const std::string& program, const std::string& command, int64_t started, const Environment& where);

// Of this process, now; its command line as ps(1) shows it, so that a password is not in it. `name`: "fsbench".
Facts own_origin(const std::string& name);

class ResultsDatabase {
 public:
  explicit ResultsDatabase(const std::string& path);
  ~ResultsDatabase();

  void begin_run(const Facts& row);
  // The rows of one table all have the same columns.
  void add(std::string_view table, const Facts& row);
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
