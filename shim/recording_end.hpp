// SPDX-License-Identifier: Apache-2.0
// Why recording ended, and whether that was a failure. Any thread may call it.
#pragma once

#include <exception>
#include <mutex>
#include <string>

#include "op_sink.hpp"

namespace fsr::shim {

class RecordingEnd {
 public:
  // Notes a request to end. The first reason stays.
  void request(const std::string& reason) {
    std::lock_guard lock(mutex_);
    if (reason_.empty()) reason_ = reason;
  }
  void end(const SinkState& state) {
    std::lock_guard lock(mutex_);
    reason_ = state.end;
    if (state.failed) failure_ = state.end;
  }
  // Finishes the sink with the reason. A failure to do so counts unless recording had failed before.
  void finish(OpSink& sink, bool clean, int64_t now, const RecorderState& state) {
    try {
      sink.finish(clean, reason(), now, state);
    } catch (const std::exception& e) {
      std::lock_guard lock(mutex_);
      if (failure_.empty()) failure_ = e.what();
    }
  }
  std::string reason() const {  // empty: recording goes on
    std::lock_guard lock(mutex_);
    return reason_;
  }
  std::string failure() const {  // empty: none
    std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  mutable std::mutex mutex_;
  std::string reason_, failure_;
};

}  // namespace fsr::shim
