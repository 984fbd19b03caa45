// SPDX-License-Identifier: Apache-2.0
// Chooses the transfers of a raw workload: the part of the SD, and the next block in it. A Chooser belongs to one thread; Cursors
// has the state that the threads of a work share.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "util/random.hpp"
#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

// Bytes of an SD, without its offset=, from `low` to `high`. Offsets from `end` on mean those from `begin` on: range=(80,120) is
// the last fifth of the SD and the first one.
struct Area {
  uint64_t low = 0, high = 0;
  uint64_t begin = 0, end = UINT64_MAX;
  uint64_t width() const { return high - low; }
  uint64_t real(uint64_t at, uint64_t length) const;  // offset on the SD; a transfer past the SD's end is at its beginning
};

// The areas of a work. Their ends are multiples of the largest transfer, as in the original. The area of a format is the complete
// SD. `spares`: block 0 of the SD is not used. Throws std::runtime_error if the SD is too small.
struct Areas {
  Area misses, hits;  // hits: empty without rhpct= and whpct=
  Areas(const RawWork& work, const Storage& storage, uint64_t size, bool spares);
};

// Offsets that the sequential threads of a work share, one for each stream.
struct Cursors {
  explicit Cursors(size_t streams) : next(streams) {}
  std::vector<std::atomic<uint64_t>> next;
  std::atomic<bool> ended{false};  // seekpct=eof has reached the end
};

class Chooser {
 public:
  // All must outlive this. `thread`: number of the thread in the work.
  Chooser(const RawWork& work, const Storage& storage, const Areas& areas, Cursors& cursors, unsigned thread, uint64_t seed);

  struct Next {
    uint64_t offset = 0, length = 0;
    bool reads = true;
  };
  std::optional<Next> next();  // none: the end is reached

 private:
  uint64_t random_in(const Area& area, uint64_t length);
  uint64_t hot(uint64_t blocks);

  const RawWork& work_;
  const Areas& areas_;
  Cursors& cursors_;
  const size_t stream_;
  const uint64_t align_, shift_;
  Random random_;
  uint64_t last_end_ = 0;  // end of this thread's last transfer
};

}  // namespace fsr::vdbench
