// SPDX-License-Identifier: Apache-2.0
// Brings the operations of all rings into one stream in order of start.
//
// Used by the writer thread only. An operation is written once no earlier one can appear. The watermark is the start of the
// oldest request in flight, or the time when the round began. A request may hold the watermark for longer than kLate, or while
// the rings' memory runs out. It is then written as a start record and holds the watermark no longer; its end is written when it
// comes. Its ring is parked until then: rounds pass over it.
#pragma once

#include <cstdint>
#include <deque>

#include "op_sink.hpp"
#include "ring.hpp"

namespace fsr::shim {

class Merger {
 public:
  static constexpr int64_t kLate = 500'000'000;  // ns

  // `pool`: the pool of all rings that will be added.
  Merger(OpSink& sink, const ChunkPool& pool) : sink_(sink), pool_(pool) {}

  void add_ring(Ring& ring) { sources_.push_back({&ring}); }
  // Gives up the rings of which `unused` is true, once all in them is written. Calls `gone` for each.
  template <class Unused, class Gone>
  void remove_rings(Unused unused, Gone gone) {
    std::erase_if(sources_, [&](const Source& source) {
      if (!unused(*source.ring) || source.early || source.ring->front()) return false;
      gone(*source.ring);
      return true;
    });
  }
  // Writes the operations that can be written, and returns their number. `now`: read before the caller got the list of all rings.
  size_t round(int64_t now);
  // Last round: writes all completed operations, and those in flight as unfinished.
  size_t finish();
  // Empties the rings after the sink has failed or is full. Returns how many operations were in them.
  size_t discard();
  bool any_open() const;
  // True: the sink is full. Then round() and finish() leave all operations in the rings.
  bool full() const { return full_; }

 private:
  struct Source {
    Ring* ring;
    bool early = false;  // its open request has been written as a start record
    int64_t early_start = 0;
    uint64_t early_seq = 0;
  };

  void park();
  void unpark_all();
  Source* holder(int64_t now, int64_t* bound);
  size_t write_before(int64_t bound);
  void write_start(Source& source, int64_t start);

  OpSink& sink_;
  const ChunkPool& pool_;
  std::deque<Source> sources_, parked_;
  Ring::View view_;
  bool unknown_ = false, full_ = false;
  size_t not_asked_ = 0;  // bytes of operations written since the sink was asked whether it is full
};

}  // namespace fsr::shim
