// SPDX-License-Identifier: Apache-2.0
// The operations of a capture that goes on, in windows of an eighth of the lag, at most a quarter of a second. A window ends
// where nothing is in flight, if there is such a place. It is passed on shortly before its first operation is due, with the files
// that it needs prepared.
//
// While nothing comes, an operation that does nothing tells the planner that those before it have ended. The planner's thread
// calls next(), others only counts that are named so.
#pragma once

#include <atomic>
#include <cstdint>

#include "inputs/live/live_image.hpp"
#include "inputs/live/stream_queue.hpp"

namespace fsr {

class LiveSource final : public OpSource {
 public:
  // `lag`: ns from the start of an operation in the capture to its start here. `stop`: ends the wait for operations when not 0.
  LiveSource(StreamReader& reader, LiveImage& image, Clock& clock, int64_t lag, const std::atomic<int>* stop);

  // Waits for the first operations. Returns the start of the first one; INT64_MAX: the stream has ended before.
  int64_t first_start();
  // `ended`: see RunOptions::live.
  void heed(const std::atomic<bool>& ended) { run_ended_ = &ended; }
  bool next(OpBatch& batch) override;
  void stop() { queue_.stop(); }  // after the run

  uint64_t operations() const { return operations_; }
  // Longest time by which a window came later than it was due, ns; 0: none did.
  int64_t behind() const { return behind_; }

 private:
  bool over() const;
  bool read_window();
  bool fill(OpBatch& batch, int64_t start);

  StreamQueue queue_;
  LiveImage& image_;
  Clock& clock_;
  const int64_t lag_, window_length_;  // ns
  const std::atomic<int>* const stop_;
  const std::atomic<bool>* run_ended_ = nullptr;

  OpBatch gathered_, window_;
  bool stream_ended_ = false;
  int64_t first_ = 0, began_ = 0;    // start of the first operation (recorded), and when it came (clock), ns
  int64_t last_end_ = 0, come_ = 0;  // recorded end of all that was passed on, and when the last came (clock), ns
  bool told_ = true;                 // the planner knows that these have ended
  uint64_t fillers_ = 0, operations_ = 0;
  int64_t behind_ = 0;
};

}  // namespace fsr
