// SPDX-License-Identifier: Apache-2.0
// Makes several bonnie++ begin each test together: at a prompt, or by semaphores that the original also uses.
#pragma once

#include <memory>
#include <string>

#include "workloads/bonnie/phases.hpp"

namespace fsr::fsbench {

class ProcessBarrier {
 public:
  virtual ~ProcessBarrier() = default;
  // Waits until all processes have arrived. Returns the reason of a failure. Empty: it succeeded.
  virtual std::string meet(bonnie::Phase phase) = 0;
};

// Makes the barrier: "p": the user lets the process go on by a line on standard input; "s": the semaphores. Throws
// std::runtime_error if there are none.
std::unique_ptr<ProcessBarrier> make_meeting(const std::string& kind);
// Makes the semaphores for `processes` processes, and prints a message on standard output. -1: removes the semaphores. Throws
// std::runtime_error.
void set_semaphores(int processes);

}  // namespace fsr::fsbench
