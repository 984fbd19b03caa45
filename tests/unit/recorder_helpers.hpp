// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of rings and of the recorder.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "merger.hpp"
#include "op_source.hpp"
#include "recorder.hpp"

namespace fsr::shim {

// Sink that keeps what it receives. It can be set to fail or to ask for the end.
struct KeepingSink final : OpSink {
  Arena arena;
  std::vector<Op> ops;           // in the order in which they were written, including starts
  std::map<uint64_t, Op> ended;  // by the number that add_start() returned
  std::string ask_to_stop, reason;
  size_t fail_after = SIZE_MAX, full_after = SIZE_MAX;
  bool stop_is_failure = true, clean = false, finished = false;
  uint64_t dropped = 0, waited = 0;
  int64_t first_dropped = INT64_MAX;
  int64_t ring_time = -1;

  void add(const Op& op) override {
    if (ops.size() >= fail_after) throw std::system_error(ENOSPC, std::generic_category(), "trace");
    ops.push_back(copy_op(op, arena));
  }
  uint64_t add_start(const Op& op) override {
    add(op);
    ops.back().op_flags |= kOpUnfinished;
    return ops.size() - 1;
  }
  void add_end(uint64_t seq, const Op& op) override { ended[seq] = copy_op(op, arena); }
  bool full() override { return ops.size() >= full_after; }
  SinkState tick(int64_t, const RecorderState& recorder) override {
    first_dropped = std::min(first_dropped, recorder.first_dropped);
    return {ask_to_stop, stop_is_failure};
  }
  void finish(bool was_clean, const std::string& why, int64_t, const RecorderState& recorder) override {
    finished = true;
    clean = was_clean;
    reason = why;
    dropped = recorder.dropped;
    first_dropped = std::min(first_dropped, recorder.first_dropped);
    waited = recorder.waited;
    ring_time = recorder.ring_time;
  }
  bool in_order() const {
    return std::is_sorted(ops.begin(), ops.end(), [](const Op& a, const Op& b) { return a.start < b.start; });
  }
};

constexpr size_t kChunk = 65536;
inline RingSize small(size_t chunk) { return {.chunk = chunk, .start = chunk, .limit = chunk}; }

inline Op op_at(int64_t start, std::string_view name = "n") { return {.start = start, .kind = OpKind::lookup, .name = name}; }

inline void put(Ring& ring, Op op) {
  ring.enter();
  ring.start(op);
  ring.finish(op);
}

inline void open_in(Ring& ring, const Op& op) {
  ring.enter();
  ring.start(op);
}

}  // namespace fsr::shim
