// SPDX-License-Identifier: Apache-2.0
// The operations of a capture that goes on, in windows of an eighth of the lag, at most a quarter of a second. A window ends
// where nothing is in flight, if there is such a place. It is passed on shortly before its first operation is due, with the files
// that it needs prepared. With clones, each operation of a window becomes one for each clone before that (plan/clones.hpp).
//
// While nothing comes, an operation that does nothing tells the planner that those before it have ended. The planner's thread
// calls next(); look() and status() may be called by another one.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "inputs/live/lag_meter.hpp"
#include "inputs/live/live_image.hpp"
#include "inputs/live/live_status.hpp"
#include "inputs/live/missing_watch.hpp"
#include "inputs/live/stream_queue.hpp"

namespace fsr {

class LiveSource final : public OpSource {
 public:
  // `epoch`: time of the clock at time 0 of the capture; empty: unknown, and the lag counts from the arrival of the first
  // operation. `stop`: ends the wait for operations when not 0. `watch`: of the target of the run; null: what it lacks is not
  // made again.
  LiveSource(StreamReader& reader, LiveImage& image, Clock& clock, const LiveOptions& options, std::optional<int64_t> epoch,
             MissingWatch* watch, const std::atomic<int>* stop);

  // Waits for the first operations. Returns the start of the first one; INT64_MAX: the stream has ended before.
  int64_t first_start();
  int64_t age() const { return clock_.now() - began_; }  // of the first operation, ns
  int64_t last_start() const { return last_start_; }     // of the operations passed on, recorded; after the run
  // `ended`: see RunOptions::live.
  void heed(const std::atomic<bool>& ended) { run_ended_ = &ended; }
  bool next(OpBatch& batch) override;
  void stop() { queue_.stop(); }  // after the run

  // Measures the lag. Call several times a second. False: it is so great that the run is to end.
  bool look(const Progress& progress);
  LiveStatus status() const;

 private:
  bool over() const;
  bool gather(int ms);
  bool read_window();
  std::span<const Op> later(int64_t until);
  void clone(OpBatch& window) const;
  bool fill(OpBatch& batch, int64_t start);
  void judge(int64_t lag);
  void leave_out(int64_t lag);

  StreamQueue queue_;
  LiveImage& image_;
  Clock& clock_;
  const LiveOptions options_;
  const int64_t window_length_;  // ns
  const size_t window_ops_;      // operations that are gathered for a window, about
  const std::optional<int64_t> epoch_;
  MissingWatch* const watch_;
  const std::atomic<int>* const stop_;
  const std::atomic<bool>* run_ended_ = nullptr;
  LagMeter lag_;

  OpBatch window_, gathered_;  // gathered_: what has come after the window
  bool stream_ended_ = false;
  int64_t first_ = 0, began_ = 0;  // start of the first operation (recorded), and when it started or came (clock), ns
  int64_t last_start_ = 0;
  int64_t last_end_ = 0, come_ = 0;  // recorded end of all that was passed on, and when the last came (clock), ns
  bool told_ = true;                 // the planner knows that these have ended
  bool leaves_out_ = false;          // operations that change nothing, until the lag is smaller
  uint64_t fillers_ = 0;
  std::atomic<int64_t> gave_up_{0};  // see LiveStatus

  mutable std::mutex mutex_;
  LiveStatus status_;  // what this thread knows of it
};

}  // namespace fsr
