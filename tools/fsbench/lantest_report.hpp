// SPDX-License-Identifier: Apache-2.0
// Report of a run of fsbench lantest: prints and stores results, and determines the exit status.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sql/results.hpp"
#include "workloads/lantest/results.hpp"

namespace fsr::fsbench {

// End of a session, with its results.
struct SessionEnd {
  lantest::Results results;
  std::string failure;  // empty: the session completed
  std::string directory;
  bool made = false, removed = false;  // state of the test directory
  int original_status = 1;             // exit status of the original after this failure

  // Serialization for another process of the same program. load() throws std::runtime_error for bytes that save() did not make.
  std::string save() const;
  static SessionEnd load(std::string_view saved);
  int64_t ahead = 0;  // ns by which the other process's clock is ahead
};

class LantestReport {
 public:
  struct Options {
    unsigned sessions = 1;
    bool processes = false;  // one process for each session
    bool csv = false, detail = false, json = false, compat = false;
    std::string database;  // results database; empty: none
  };

  // `now`: ns on the clock of ended(). Throws std::runtime_error if `database` is no results database.
  LantestReport(const Options& options, const lantest::Settings& settings, int64_t now);

  // Prints text for the user, unless JSON was requested. Thread-safe.
  void print_text(const std::string& text) const;
  // Reports the end of a test. Sessions count from 1. Thread-safe.
  void test_ended(unsigned session, unsigned iteration, unsigned test, const lantest::Measures& measures, bool calls) const;
  // Returns "session 3: ", or an empty string if there is only one session.
  std::string name_of(unsigned session) const;
  // Prints the results and failures of all sessions after they have ended, and stores the results. Returns the exit status.
  int ended(const std::vector<SessionEnd>& ends, const std::string& target, bool interrupted, int64_t now);

 private:
  void complain(const std::vector<SessionEnd>& ends, bool interrupted) const;
  void print(const std::string& target, const lantest::Sessions& sessions) const;

  const Options options_;
  const lantest::Settings& settings_;
  const int64_t started_;
  std::unique_ptr<ResultsDatabase> database_;
  Facts origin_;
};

}  // namespace fsr::fsbench
