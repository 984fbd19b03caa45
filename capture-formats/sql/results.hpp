// SPDX-License-Identifier: Apache-2.0
// The results database: what a run measured, as a SQLite file that other tools can query.
//
//   run(key TEXT PRIMARY KEY, value)                        one row a fact: input, target, options, totals, verdict
//   kinds(kind, issued, ok, matched, differed, permission, uncompared, failed, awaited, approximate, impossible, refused, bytes)
//   histograms(kind, what, low_ns, high_ns, count)          kind '' = all; what: lateness, waiting, service, response, failing
//   intervals(elapsed_ns, done, in_flight, differed, bytes, lateness_ns)   totals so far, at each report of progress
//   mismatches(seq, kind, name, object, thread, expected, got)             the first ones
//   counters(name PRIMARY KEY, value)                       what the target did beyond the operations
//
// The file appears whole or not at all: it is written under a temporary name beside it and renamed by commit(). One thread.
// Every member throws std::runtime_error "FILE: why".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace fsr {

using SqlValue = std::variant<int64_t, double, std::string>;

class ResultsDatabase {
 public:
  explicit ResultsDatabase(const std::string& path);
  ~ResultsDatabase();  // without commit(): nothing is left behind

  void create(const std::string& table);  // one more, for what an input or a program has to say: "NAME(COLUMN TYPE, ...)"
  void add(std::string_view table, const std::vector<SqlValue>& row);  // all of its columns in order
  void commit();                                                       // replaces `path`

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// True when `path` does not exist, is empty or holds a results database: may be replaced.
bool results_replaceable(const std::string& path);

}  // namespace fsr
