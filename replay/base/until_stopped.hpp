// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "op_source.hpp"
#include "util/stop_signals.hpp"

namespace fsr {

// The operations of a source. Throws std::runtime_error at the next batch after a signal that asks the program to end.
class UntilStopped final : public OpSource {
 public:
  explicit UntilStopped(OpSource& source) : source_(source) {}
  bool next(OpBatch& batch) override {
    if (stop_signals().load() != 0) throw std::runtime_error("interrupted");
    return source_.next(batch);
  }

 private:
  OpSource& source_;
};

}  // namespace fsr
