// SPDX-License-Identifier: Apache-2.0
// Reads results databases. One thread. Members throw std::runtime_error "FILE: why".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sql/results.hpp"
#include "util/histogram.hpp"

namespace fsr {

// A row, by the names of its columns. A value that is null, missing or infinite is 0 or empty, and a number has the nearest one
// of its type.
class ResultRow {
 public:
  explicit ResultRow(Facts facts) : facts_(std::move(facts)) {}
  std::string text(std::string_view name) const;
  int64_t number(std::string_view name) const;
  double real(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }  // false: null or missing
  bool is_text(std::string_view name) const;
  const Facts& facts() const { return facts_; }  // columns that are not null

 private:
  const SqlValue* find(std::string_view name) const;
  Facts facts_;
};

// True: the file has the head of a results database, of whatever version.
bool is_results_database(const std::string& path);

class ResultsReader {
 public:
  explicit ResultsReader(const std::string& path);
  explicit ResultsReader(const ResultsDatabase& database);  // which must outlive the reader; it sees what was committed
  ~ResultsReader();

  const std::string& path() const;
  std::vector<ResultRow> runs();  // in their order
  // The rows of a run in one table, in the order in which they were written.
  std::vector<ResultRow> rows(std::string_view table, int64_t run);
  // The distribution `what` of a kind of operation, or of all kinds (`kind` empty).
  Histogram histogram(int64_t run, std::string_view kind, std::string_view what);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
