// SPDX-License-Identifier: Apache-2.0
// The traces that the ranks of a run wrote of what they did, as one on the root. Main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cluster/cluster.hpp"
#include "op.hpp"
#include "trace/header.hpp"
#include "trace/live_state.hpp"

namespace fsr {

// Where a rank writes its own, until they are one.
std::string rank_recording(const std::string& path, unsigned rank);

// What all ranks' traces become, made on the root before the run, so that it can be: an empty file, removed unless it was filled.
class RankRecordings {
 public:
  // Throws std::runtime_error "FILE: why", also where it exists.
  explicit RankRecordings(const std::string& path);
  ~RankRecordings();
  RankRecordings(const RankRecordings&) = delete;
  RankRecordings& operator=(const RankRecordings&) = delete;

  struct Plan {  // what they have in common
    TraceHeader header;
    LiveState initial;
    // The ranks have ids of their own, which may mean others on another rank; but for the root directory, which is one.
    bool ids_differ = false;
    std::vector<int64_t> began;  // by rank: ns after the first of them
  };
  // `files`: of all ranks, by rank, at their beginnings; closed. Throws std::runtime_error "FILE: why".
  void write(std::vector<int> files, Plan plan);

 private:
  const std::string path_;
  int fd_;
};

// Collective: copies of the ranks' traces, on the root, which has to close them; elsewhere none.
std::vector<int> collect_recordings(Cluster& cluster, const std::string& own);

}  // namespace fsr
