// SPDX-License-Identifier: Apache-2.0
// Brings the operations of all rings into one stream in order of start.
//
// Used by the writer thread only. An operation is written once no earlier one can appear. The watermark is the start of the
// oldest request in flight, or the time when the round began. A request may hold the watermark for longer than kLate, or while
// the rings' memory runs out. It is then written as a start record and holds the watermark no longer; its end is written when it
// comes.
#pragma once

#include <cstdint>
#include <deque>

#include "op_sink.hpp"
#include "ring.hpp"

namespace fsr::shim {

class Merger {
 public:
  static constexpr int64_t kLate = 500'000'000;  // ns

  // `pool`: of all the rings that are added.
  Merger(OpSink& sink, const ChunkPool& pool) : sink_(sink), pool_(pool) {}

  void add_ring(Ring& ring) { sources_.push_back({&ring}); }
  // Writes what can be written. `now` was read before the caller made sure that it knows every ring. Returns operations taken.
  size_t round(int64_t now);
  // Last round: writes all completed operations, and those in flight as unfinished.
  size_t finish();
  // Empties the rings after the sink has failed or is full. Returns how many operations were in them.
  size_t discard();
  bool any_open() const;
  // Whether the sink takes no more: round() and finish() leave everything in the rings.
  bool full() const { return full_; }

 private:
  struct Source {
    Ring* ring;
    bool early = false;  // its open request has been written as a start record
    int64_t early_start = 0;
    uint64_t early_seq = 0;
  };

  Source* holder(int64_t now, int64_t* bound);
  size_t write_before(int64_t bound);
  void write_start(Source& source, int64_t start);

  OpSink& sink_;
  const ChunkPool& pool_;
  std::deque<Source> sources_;
  Ring::View view_;
  bool unknown_ = false, full_ = false;
  size_t not_asked_ = 0;  // bytes of operations written since the sink was asked whether it is full
};

}  // namespace fsr::shim
