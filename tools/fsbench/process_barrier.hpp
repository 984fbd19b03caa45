// SPDX-License-Identifier: Apache-2.0
// Lets several bonnie++ begin each test together: at a prompt, or by semaphores that the original shares.
#pragma once

#include <memory>
#include <string>

#include "workloads/bonnie/phases.hpp"

namespace fsr::fsbench {

class ProcessBarrier {
 public:
  virtual ~ProcessBarrier() = default;
  // Waits until the others have arrived, too. Returns why that failed; empty: it succeeded.
  virtual std::string meet(bonnie::Phase phase) = 0;
};

// "p": whoever types a line on standard input lets it go on; "s": the semaphores. Throws std::runtime_error when there are none.
std::unique_ptr<ProcessBarrier> make_meeting(const std::string& kind);
// Makes the semaphores for that many processes; -1: removes them. Says so on standard output. Throws std::runtime_error.
void set_semaphores(int processes);

}  // namespace fsr::fsbench
