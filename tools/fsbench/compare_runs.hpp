// SPDX-License-Identifier: Apache-2.0
// Runs a program on a target for fsbench compare, in a process of its own.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "run_row.hpp"

namespace fsr::fsbench {

// A file that the program reads, such as its configuration.
struct NamedText {
  std::string name, text;
};

struct ProgramRun {
  std::vector<RunRow> rows;
  int status = 0;         // exit status; 128 + N for signal N
  std::string complaint;  // last line of standard error
};

// A program of fsbench ("bonnie") or fsreplay, and its arguments without the target.
class ComparedProgram {
 public:
  // `name`: is_known(). Throws std::runtime_error if the arguments are not possible with these targets.
  ComparedProgram(std::string name, std::vector<std::string> arguments, const std::vector<std::string>& targets);
  static bool is_known(const std::string& name);
  // Returns options that the program gets in addition to the given ones, and the reason. Empty: none.
  const std::string& added() const { return added_; }
  // Returns the text files that the arguments name, with their present content.
  std::vector<NamedText> files() const;

  // Returns the command line that runs the program on `target`. `seed`: for programs that take a seed from the time by default.
  std::vector<std::string> command(const std::string& target, unsigned seed) const;
  // Runs the program. `stop` is passed on as SIGTERM, which programs ignore less often than SIGINT. Throws std::runtime_error if
  // it can't be started, or its output can't be read.
  ProgramRun run(const std::string& target, unsigned seed, const std::atomic<int>& stop) const;

 private:
  const std::string name_;
  std::vector<std::string> arguments_;
  std::string added_;
};

}  // namespace fsr::fsbench
