// SPDX-License-Identifier: Apache-2.0
// The arguments of `fsshim capture`. Must live until the program's parse() has returned. One thread.
#pragma once

#include <string>
#include <vector>

#include "subcommands.hpp"
#include "util/command.hpp"

namespace fsr::shim {

class CaptureArguments {
 public:
  explicit CaptureArguments(Program& program);
  CaptureArguments(const CaptureArguments&) = delete;
  CaptureArguments& operator=(const CaptureArguments&) = delete;

  bool chosen() const { return command_.chosen(); }
  // Runs the capture, with `command` under it if there is one. Returns the exit status. Throws CaptureError if arguments exclude
  // each other or if the capture could not start.
  int run(std::vector<std::string> command);

 private:
  void add_recorded();
  void add_requests();
  void add_hooks();
  void add_trace();
  void add_conduct();
  Option add_group(const char* name, std::vector<std::string>& into, const std::string& what);
  void add_rule(const char* name, void (OpFilter::*add)(std::string_view), const char* help);
  void take_words();
  void check_sizes() const;

  Command command_;
  CaptureOptions options_;
  std::string content_ = "none", mappings_ = "auto", clock_ = "100ns", transport_ = "auto", overflow_, cache_ = "auto",
              permissions_ = "auto", on_stall_ = "wait", via_ = "fuse";
};

}  // namespace fsr::shim
