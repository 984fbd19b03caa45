// SPDX-License-Identifier: Apache-2.0
// Where the transfers of a raw workload go: which part of the SD, and which block next. One thread's; what the threads of a work
// share is in Cursors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "workloads/random.hpp"
#include "workloads/vdbench/plan/planned_run.hpp"

namespace fsr::vdbench {

// Bytes of an SD from `low` up to `high`. Bytes from `end` on stand for those from `begin` on: range=(80,120) is the last fifth
// of the SD and the first one.
struct Area {
  uint64_t low = 0, high = 0;
  uint64_t begin = 0, end = UINT64_MAX;
  uint64_t width() const { return high - low; }
  uint64_t real(uint64_t at, uint64_t length) const;  // where a transfer goes: one over the end stays before it
};

// The areas of a work. `spares`: block 0 of the SD is left alone. Throws std::runtime_error where the SD is too small for it.
struct Areas {
  Area misses, hits;  // hits: empty without rhpct= and whpct=
  bool spares_first;
  Areas(const RawWork& work, const Storage& storage, uint64_t size, bool spares);
};

// Where sequential threads of a work, or of a stream of it, go on together.
struct Cursors {
  explicit Cursors(size_t streams) : next(streams) {}
  std::vector<std::atomic<uint64_t>> next;
  std::atomic<bool> ended{false};  // seekpct=eof came to its end
};

class Chooser {
 public:
  // All outlive it. `thread`: of the work.
  Chooser(const RawWork& work, const Storage& storage, const Areas& areas, Cursors& cursors, unsigned thread, uint64_t seed);

  struct Next {
    uint64_t offset = 0, length = 0;
    bool reads = true;
  };
  std::optional<Next> next();  // nothing: the end

 private:
  uint64_t draw_length();
  uint64_t random_in(const Area& area, uint64_t length);
  uint64_t hot(uint64_t blocks);

  const RawWork& work_;
  const Areas& areas_;
  Cursors& cursors_;
  const size_t stream_;
  const uint64_t align_, shift_;
  Random random_;
  uint64_t last_end_ = 0;  // of the latest transfer of this thread
};

}  // namespace fsr::vdbench
