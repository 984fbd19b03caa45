// SPDX-License-Identifier: Apache-2.0
// One sequence executed on both directories at once, and what differed.
#pragma once

#include <map>
#include <string>

#include "actor.hpp"
#include "known.hpp"

namespace differential {

struct Outcome {
  enum class What { same, answer, tree, beneath, hang, trouble } what = What::same;
  uint32_t op = 0;   // of answer and hang
  std::string sign;  // differences with the same sign probably have the same cause
  std::string text;
};

class Pair {
 public:
  // `beneath` may be empty. Exits with a message when `shim` is no FUSE mount although it is `captured`.
  Pair(std::string bare, std::string shim, std::string beneath, bool captured);
  Sequence& sequence() { return *sequence_; }
  Outcome run();                          // executes sequence(). After a hang the mount is dead.
  std::map<std::string, uint64_t> known;  // how often each known difference was met
  bool kernel_checks = false;             // SHIM is captured with --permissions kernel

 private:
  pid_t start(Side& side, const std::string& directory, const std::string& beneath);
  bool wait_for(pid_t pid);
  void cut_off();
  bool is_here(Known::Where where) const;
  Outcome compare();
  std::string bare_, shim_, beneath_;
  std::string abort_file_;
  uint64_t count_ = 0;
  Sequence* sequence_;
  Side *bare_side_, *shim_side_;
};

}  // namespace differential
