// SPDX-License-Identifier: Apache-2.0
// Finds which thread of a trace started which other one, and for whose end it waited. Both become steps of the thread between its
// operations, so that a model learns them like operations. Plain functions; memory follows the operations.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/symbol.hpp"

namespace fsr {

struct LearnedStep {
  int64_t start = 0;      // ns
  SymbolId symbol = 0;    // before finish(): number of the complete symbol, from 0
  uint32_t duration = 0;  // time code
  int64_t end() const;
};

constexpr size_t kNoThread = SIZE_MAX;

struct LearnedThread {
  std::string command;  // empty: a process that made no operations, and started others
  uint32_t client = 0;
  int32_t tid = 0, pid = 0, ppid = 0;  // 0: not known
  size_t run = 0;
  std::vector<LearnedStep> steps;  // in order of start
  size_t parent = kNoThread;       // thread that started this one
  uint32_t number = 0;             // of its class
  int64_t first() const { return steps.front().start; }
  int64_t end() const;  // of the step that ends last
};

// Sets the parents of `threads`, and adds processes that made no operations. A parent counts if threads of its command start
// `least` of the child's command or more.
void link_processes(std::vector<LearnedThread>& threads, uint64_t least);

// Adds steps to threads that started others. `symbol`: returns the number of a symbol, which starts a process of the class, or
// waits until one has ended.
void add_process_steps(std::vector<LearnedThread>& threads, const std::function<SymbolId(ProcessStep, uint32_t)>& symbol);

}  // namespace fsr
