// SPDX-License-Identifier: Apache-2.0
// Where recorded operations go: the trace, or a test.
#pragma once

#include <cstdint>
#include <string>

#include "op.hpp"

namespace fsr {

// Called by the writer thread only. Times are ns since the trace's epoch. Every call may throw std::exception: recording then
// ends, with its text as the reason, and nothing but finish() is called any more.
class OpSink {
 public:
  virtual ~OpSink() = default;
  virtual void add(const Op& op) = 0;            // in order of start
  virtual uint64_t add_start(const Op& op) = 0;  // still under way; takes its place in the order
  virtual void add_end(uint64_t seq, const Op& op) = 0;
  // Called every few milliseconds. Not empty: recording has to end, for this reason.
  virtual std::string tick(int64_t now) = 0;
  virtual void finish(bool clean, const std::string& reason, int64_t end, uint64_t dropped, uint64_t waited) = 0;
};

}  // namespace fsr
