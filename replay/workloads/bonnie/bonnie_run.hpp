// SPDX-License-Identifier: Apache-2.0
// State that the threads of one run of all tests share. They run one after the other. Seekers run at the same time, and only the
// first calls begin(). fail() is thread-safe, and so must `say` be.
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
  const std::string name;                // of the big file, and of the directory of small ones
  uint32_t umask = 0;                    // of what is made
  bool old_words = false;                // 1.03's
  std::function<void(const char*)> say;  // progress; empty: it is not told
  // Before each test, on a thread that may block: waits for other processes that take part. A text that it returns ends the run.
  std::function<std::string(Phase)> meet;  // may be empty

  Results results = {};
  std::string failure;        // the first, one line
  std::string left;           // what could not be removed, one line
  ObjectId file = kNoObject;  // the big file, while it exists

  Task begin(SimContext& sim, Phase phase);  // meets and tells; 0 or an errno
  void end(Phase phase, const Measured& measured);
  // Keeps the first failure. Returns `error`.
  int fail(Phase phase, const std::string& what, int error);
  void wrong(const std::string& what);  // the same for what is no errno
  void cleans_up();                     // tells that what was made is removed after a failure

 private:
  std::mutex mutex_;
};

}  // namespace fsr::bonnie
