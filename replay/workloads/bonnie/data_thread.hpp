// SPDX-License-Identifier: Apache-2.0
// bonnie++'s tests of a big file, except the seeks: it is written, rewritten and read, by single bytes and by chunks. The time of
// each test goes from open to fsync and close.
#pragma once

#include "base/page_buffer.hpp"
#include "threads/sim_thread.hpp"
#include "workloads/bonnie/big_file.hpp"
#include "workloads/bonnie/bonnie_run.hpp"
#include "workloads/bonnie/meter.hpp"

namespace fsr::bonnie {

class DataThread final : public SimThread {
 public:
  // `run` must outlive this. The file is not removed.
  explicit DataThread(BonnieRun& run) : run_(run), buffer_(size_t(run.settings.chunk)) {}
  SimTask run(SimContext& sim) override;

 private:
  Task test(SimContext& sim, Phase phase);
  Task make_empty(SimContext& sim);
  Task bytes(SimContext& sim, BigFile& file, Phase phase, uint64_t chunk);
  Task all_bytes(SimContext& sim, BigFile& file, Phase phase, uint64_t chunks, Meter& meter);
  Task blocks(SimContext& sim, BigFile& file, Phase phase, uint64_t chunks, Meter& meter);
  Task complete_read(BigFile& file, Phase phase, const Op& op, const Outcome& outcome);

  BonnieRun& run_;
  PageBuffer buffer_;
};

// Removes the big file if there is one. Then makes `attempts` more removals, which find no file, because each seeker of bonnie++
// tries to remove it, too.
class BigFileRemover final : public SimThread {
 public:
  BigFileRemover(BonnieRun& run, unsigned attempts) : run_(run), attempts_(attempts) {}
  SimTask run(SimContext& sim) override;

 private:
  BonnieRun& run_;
  const unsigned attempts_;
};

}  // namespace fsr::bonnie
