// SPDX-License-Identifier: Apache-2.0
// The files a capture writes: the trace, and the mixfile beside it.
#pragma once

#include <array>
#include <string>

#include "op.hpp"

namespace fsr {

// Opened before anything is mounted, removed again unless keep() is called. Throws Fail when a file exists, can't be made, or
// would lie inside the captured directory.
class CaptureOutput {
 public:
  // `trace`: empty for the default name in the working directory. `root_fd`: the captured directory.
  CaptureOutput(const std::string& trace, const std::string& directory, int root_fd);
  ~CaptureOutput();
  CaptureOutput(const CaptureOutput&) = delete;
  CaptureOutput& operator=(const CaptureOutput&) = delete;

  const std::string& trace() const { return trace_; }
  std::string full_name() const;  // of the trace, from the root
  int take_trace_fd();            // the caller closes it
  void keep() { keep_ = true; }
  void write_mix(const std::array<uint64_t, kOpKinds>& counts);

 private:
  std::string trace_, mix_;
  int directory_fd_ = -1, trace_fd_ = -1, mix_fd_ = -1;
  bool keep_ = false;
};

}  // namespace fsr
