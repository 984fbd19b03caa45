// SPDX-License-Identifier: Apache-2.0
// Runs all iterations of the chosen tests over AFP.
#pragma once

#include <functional>
#include <string>

#include "workloads/lantest/afp_tests.hpp"

namespace fsr::lantest {

class AfpRun {
 public:
  // Called at the end of each test; iterations count from 1.
  using ReportTest = std::function<void(unsigned iteration, unsigned test, const Measures& measures)>;

  // `session`: as for test_directory(). `common`: barrier of several sessions before the measured part of each test. Null: one
  // session.
  AfpRun(afp::Commands& commands, const Settings& settings, unsigned session, const std::atomic<int>& stop,
         const ServerCalls* calls, CommonStart* common, ReportTest report, AfpTests::Trace trace);
  // Runs the tests. False: a test failed or was interrupted, or the test directory could not be made or removed.
  bool run();

  const Results& results() const { return results_; }
  const std::string& directory() const { return tests_.directory(); }
  // Returns "iteration 1, test 3: FPOpenFork of 'File.big': kFPObjectNotFound (-5018)". Empty: no test failed.
  const std::string& failure() const { return failure_; }
  int original_status() const;               // exit status of afp_lantest in this case
  bool made() const { return made_; }        // the test directory was made
  bool removed() const { return removed_; }  // true: no files are left on the server

 private:
  Task run_all();
  Task iterate(unsigned iteration);

  afp::Commands& commands_;
  const Settings& settings_;
  CommonStart* const common_;
  const ReportTest report_;
  Stopwatch watch_;
  AfpTests tests_;
  Results results_;
  std::string failure_;
  bool made_ = false, removed_ = false;
};

}  // namespace fsr::lantest
