// SPDX-License-Identifier: Apache-2.0
// The big file while a player has it open.
#pragma once

#include <cstdint>

#include "base/task.hpp"
#include "op.hpp"
#include "workloads/bonnie/course.hpp"

namespace fsr {
class Seat;
}

namespace fsr::bonnie {

// Every Task yields 0 or an errno, which the course then knows of. Lives no longer than the course and the seat.
class BigFile {
 public:
  BigFile(Course& course, Seat& seat) : course_(course), seat_(seat) {}

  Task make(Phase phase);  // anew
  Task open(Phase phase);
  Task write(Phase phase, const char* bytes, uint64_t length, uint64_t offset);
  // All of `length`, into `to`.
  Task read(Phase phase, char* to, uint64_t length, uint64_t offset);
  Task sync(Phase phase);
  Task sync_and_close(Phase phase);

 private:
  Course& course_;
  Seat& seat_;
  HandleId handle_ = 0;
};

}  // namespace fsr::bonnie
