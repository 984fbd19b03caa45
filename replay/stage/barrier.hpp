// SPDX-License-Identifier: Apache-2.0
// Where players meet: each waits until all parties have arrived that have not left; then it can be used again. Thread-safe.
// Outlives the play.
#pragma once

#include <mutex>
#include <vector>

namespace fsr {

class Seat;
struct PlayState;

class Barrier {
 public:
  explicit Barrier(unsigned parties) : parties_(parties) {}

 private:
  friend class Seat;
  friend struct PlayState;

  bool wait(Seat& seat);  // false: it need not, being the last one, or because the play ends
  void leave(PlayState& play);
  void break_up(PlayState& play);
  static void let_go(PlayState& play, std::vector<Seat*> seats, bool came_together);

  unsigned parties_;
  std::mutex mutex_;
  std::vector<Seat*> waiting_;
};

}  // namespace fsr
