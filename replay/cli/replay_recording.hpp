// SPDX-License-Identifier: Apache-2.0
// The trace that a replay writes of itself (--record). With several ranks each records its own operations, and the root merges
// them in the end. Main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/afterwards.hpp"
#include "cli/rank_recordings.hpp"
#include "cluster/cluster.hpp"
#include "engine/recording.hpp"
#include "inputs/input.hpp"
#include "trace/header.hpp"

namespace fsr {

class ReplayRecording {
 public:
  // Creates `path`, which must not exist. Throws std::runtime_error "FILE: why".
  ReplayRecording(const std::string& path, Cluster& cluster);

  Recording& of_rank() { return recording_; }
  // Begins the trace, before the run. `header`: of the whole run.
  void start(TraceHeader header, Input& input);
  // Completes the trace. `whole`: the run was not stopped. `began`: when this rank began, ns after the common start. None: a rank
  // is lost, so nothing is merged. Collective, unless a rank is lost.
  void finish(bool whole, std::optional<int64_t> began, Input& input, Afterwards& afterwards);

 private:
  void merge(int64_t began, Input& input);

  Cluster& cluster_;
  const std::string path_;
  Recording recording_;
  std::optional<RankRecordings> merged_;  // of all ranks, on the root
  TraceHeader header_;
};

// Returns the header of a trace of a replay of `input` on `target`. It takes over what does not depend on the host. `name`: what
// the command line calls the input.
TraceHeader header_of_replay(const Input& input, const std::string& name, const std::string& target);

}  // namespace fsr
