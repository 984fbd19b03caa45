// SPDX-License-Identifier: Apache-2.0
// bonnie++'s random seeks: several seekers take tickets from one heap. For each ticket a seeker reads a chunk; one in ten it also
// changes and writes back.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/page_buffer.hpp"
#include "base/task.hpp"
#include "threads/barrier.hpp"
#include "threads/sim_thread.hpp"
#include "workloads/bonnie/big_file.hpp"
#include "workloads/bonnie/bonnie_run.hpp"

namespace fsr::bonnie {

struct Ticket {
  uint64_t chunk;
  bool updates;
};

// State that the seekers of a run share. Thread-safe.
class Tickets {
 public:
  explicit Tickets(BonnieRun& run);
  bool take(Ticket* ticket);  // false: there are no more
  void none_left() { next_ = numbers_.size(); }
  Barrier& start() { return start_; }
  // Called when a seeker begins and ends. `at`, `longest`, `steps`: ns.
  void began(int64_t at);
  void ended(int64_t at, int64_t longest, const Histogram& steps);
  // Returns the figures from the first beginning to the last end.
  Measured measured() const;

 private:
  const uint64_t chunks_;
  std::vector<int32_t> numbers_;
  std::atomic<size_t> next_{0};
  Barrier start_;
  std::mutex mutex_;
  int64_t began_ = INT64_MAX, ended_ = 0, longest_ = 0;
  Histogram steps_;
  double cpu_at_start_ = 0, cpu_at_end_ = 0;
};

class SeekThread final : public SimThread {
 public:
  // Both must outlive this. `first`: this seeker starts the test for all. It also keeps the file open itself until then, as
  // bonnie++'s main thread has.
  SeekThread(BonnieRun& run, Tickets& tickets, bool first)
      : run_(run), tickets_(tickets), first_(first), buffer_(size_t(run.settings.chunk)) {}
  SimTask run(SimContext& sim) override;

 private:
  Task seek(SimContext& sim, BigFile& file, Ticket ticket);

  BonnieRun& run_;
  Tickets& tickets_;
  const bool first_;
  PageBuffer buffer_;
};

}  // namespace fsr::bonnie
