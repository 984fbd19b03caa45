// SPDX-License-Identifier: Apache-2.0
// One run of a program on a target, in a process of its own, for fsbench compare.
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
  int status = 0;         // its exit status, 128 + N for signal N
  std::string complaint;  // the last line of its standard error
};

// A program of fsbench ("bonnie") or fsreplay, and its arguments but for the target.
class ComparedProgram {
 public:
  // `name` is known. Throws std::runtime_error for arguments that can't be right with these targets.
  ComparedProgram(std::string name, std::vector<std::string> arguments, const std::vector<std::string>& targets);
  static bool is_known(const std::string& name);
  // Options that the program gets beside those that were given, and why; empty: none.
  const std::string& added() const { return added_; }
  // The text files that its arguments name, as they are now.
  std::vector<NamedText> files() const;

  // The command line that runs it on `target`; `seed` of programs that otherwise take one of the moment.
  std::vector<std::string> command(const std::string& target, unsigned seed) const;
  // Runs it. `stop` is passed on as SIGTERM, which unlike SIGINT is rarely ignored. Throws std::runtime_error when it can't be
  // started, or says nothing that can be read.
  ProgramRun run(const std::string& target, unsigned seed, const std::atomic<int>& stop) const;

 private:
  const std::string name_;
  std::vector<std::string> arguments_;
  std::string added_;
};

}  // namespace fsr::fsbench
