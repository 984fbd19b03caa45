// SPDX-License-Identifier: Apache-2.0
// bonnie++'s tests of a big file but for the seeks: written, rewritten and read, by single bytes and by chunks, each from open to
// fsync and close.
#pragma once

#include "base/page_buffer.hpp"
#include "stage/actor.hpp"
#include "workloads/bonnie/big_file.hpp"
#include "workloads/bonnie/course.hpp"

namespace fsr::bonnie {

class DataPlayer final : public Player {
 public:
  // `course` outlives it. The file stays.
  explicit DataPlayer(Course& course) : course_(course), buffer_(size_t(course.settings.chunk)) {}
  Actor play(Seat& seat) override;

 private:
  Task test(Seat& seat, Phase phase);
  Task bytes(Seat& seat, BigFile& file, Phase phase, uint64_t chunk);
  Task block(Seat& seat, BigFile& file, Phase phase, uint64_t chunk);

  Course& course_;
  PageBuffer buffer_;
};

// Removes the big file if there is one.
class BigFileRemover final : public Player {
 public:
  explicit BigFileRemover(Course& course) : course_(course) {}
  Actor play(Seat& seat) override;

 private:
  Course& course_;
};

}  // namespace fsr::bonnie
