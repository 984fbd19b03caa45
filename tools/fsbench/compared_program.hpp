// SPDX-License-Identifier: Apache-2.0
// Runs a program on a target for fsbench compare, in a process of its own.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "compared.hpp"
#include "run_row.hpp"

namespace fsr::fsbench {

struct ProgramRun {
  std::vector<RunRow> rows;
  int status = 0;         // exit status; 128 + N for signal N
  std::string complaint;  // last line of standard error
};

// Returns the names of the programs that can be compared: fsreplay, and the personalities that say how to compare them.
Words compared_programs();

// A program and its arguments without the target.
class ComparedProgram {
 public:
  // `name`: one of compared_programs(). Throws std::runtime_error if the arguments are not possible with these targets.
  ComparedProgram(std::string name, Words arguments, const Words& targets);
  // Returns options that the program gets in addition to the given ones, and the reason or what they replace. Empty: none.
  const std::string& added() const { return added_; }
  // Returns the text files that the arguments name, with their present content.
  std::vector<NamedText> files() const { return texts_named_in(arguments_); }

  // Returns the command line that runs the program on `target`. `seed`: for programs that take a seed from the time by default.
  Words command(const std::string& target, unsigned seed) const;
  // Runs the program. `stop` is passed on as SIGTERM, which programs ignore less often than SIGINT. Throws std::runtime_error if
  // it can't be started, or its output can't be read.
  ProgramRun run(const std::string& target, unsigned seed, const std::atomic<int>& stop) const;

 private:
  const std::string name_;
  const Compared& compared_;
  Words arguments_;
  std::string added_;
};

}  // namespace fsr::fsbench
