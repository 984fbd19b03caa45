// SPDX-License-Identifier: Apache-2.0
// Adds what a program of fsbench measured to a results database, for its option --results. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "run_row.hpp"
#include "sql/results.hpp"
#include "util/command.hpp"

namespace fsr::fsbench {

class KeptResults {
 public:
  // `file`: the database. Empty: nothing is kept. Throws std::runtime_error if it is no results database.
  explicit KeptResults(const std::string& file);

  explicit operator bool() const { return database_ != nullptr; }
  // Adds a run. `input`: the program with what determines its load; runs with the same input are compared with each other.
  // `elapsed`: ns. `status`: exit status so far. Throws std::runtime_error.
  void keep(const std::string& input, const std::string& target, const std::vector<RunRow>& rows, int64_t elapsed, int status);

 private:
  std::unique_ptr<ResultsDatabase> database_;
  Facts origin_;
};

// Declares the option --results.
void add_results_option(Command& command, std::string& file);

// Adds the rows of the current run of `database`.
void add_measured(ResultsDatabase& database, const std::vector<RunRow>& rows);

}  // namespace fsr::fsbench
