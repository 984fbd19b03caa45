// SPDX-License-Identifier: Apache-2.0
// PostMark's commands, from a configuration file or a prompt. A wrong command is reported on standard error, and the next one is
// read.
#pragma once

#include <fstream>
#include <functional>
#include <string>

#include "workloads/postmark/settings.hpp"

namespace fsr::postmark {

class Commands {
 public:
  // `run` runs PostMark with the current settings and returns the report. The report goes to standard output or to the file that
  // the command names. Exceptions of `run` are reported like a wrong command.
  explicit Commands(std::function<std::string(const Settings&)> run) : run_(std::move(run)) {}

  // Reads a whole file, up to "quit". False: the file can't be read.
  bool load(const std::string& file);
  // Reads standard input, up to its end or "quit".
  void prompt();
  bool quit() const { return quit_; }
  bool any_error() const { return any_error_; }

 private:
  struct Entry;
  static const Entry kEntries[];

  void perform(const std::string& line);
  void error(const std::string& why);
  // Opens the file that a command names for appending. Returns a closed stream if it names none or an error was reported. Output
  // that can't be written to a file goes to standard output, as with the original.
  std::ofstream open(const std::string& file);
  void unwritable(const std::string& file);
  void print(const std::string& text, std::ofstream out, const std::string& file);
  void set_size(const std::string& argument);
  void set_location(const std::string& argument);
  void set_number(const std::string& argument, int64_t least, int64_t most, int64_t& to, const char* why);
  void set_bias(const std::string& argument, int64_t& to);
  void run(const std::string& file);
  void show(const std::string& file);
  // Prints the commands that begin with `command`, or all if none does.
  void help(const std::string& command);

  std::function<std::string(const Settings&)> run_;
  Settings settings_;
  bool quit_ = false, any_error_ = false;
};

}  // namespace fsr::postmark
