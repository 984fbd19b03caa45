// SPDX-License-Identifier: Apache-2.0
// State that the threads of one run of all tests share. The threads run one after the other. Only the seekers run at the same
// time, and only the first of them calls begin(). fail() is thread-safe, and `say` must be, too.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/task.hpp"
#include "op.hpp"
#include "workloads/bonnie/numbers.hpp"
#include "workloads/bonnie/phases.hpp"
#include "workloads/bonnie/settings.hpp"

namespace fsr {
class SimContext;
}

namespace fsr::bonnie {

class BonnieRun {
 public:
  BonnieRun(const Settings& what, Numbers& random, std::string called)
      : settings(what), numbers(random), name(std::move(called)) {}

  const Settings& settings;
  Numbers& numbers;
  const std::string name;                           // name of the big file, and of the directory of small files
  uint32_t umask = 0;                               // umask for created files and directories
  bool percentiles = false;                         // keeps the times of all steps
  bool old_words = false;                           // uses the words of version 1.03
  std::function<void(const char*)> print_progress;  // prints progress; may be empty
  // Called before each test, on a thread that may block. Waits for the other processes of the run. Returns a reason to end the
  // run. Empty: the run goes on.
  std::function<std::string(Phase)> meet;  // may be null

  Results results = {};
  std::string failure;        // the first failure, one line
  std::string left;           // names that could not be removed, one line
  ObjectId file = kNoObject;  // the big file, while it exists

  Task begin(SimContext& sim, Phase phase);  // calls meet() and prints the test; returns 0 or an errno
  void end(Phase phase, const Measured& measured);
  // Keeps the first failure. Returns `error`.
  int fail(Phase phase, const std::string& what, int error);
  void wrong(const std::string& what);  // like fail(), for a failure without errno
  void cleans_up();                     // prints that the test directory is removed after a failure

 private:
  std::mutex mutex_;
};

}  // namespace fsr::bonnie
