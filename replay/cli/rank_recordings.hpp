// SPDX-License-Identifier: Apache-2.0
// Merges the recordings of the ranks of a run into one trace on the root. Main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cluster/cluster.hpp"
#include "op.hpp"
#include "trace/header.hpp"
#include "trace/live_state.hpp"

namespace fsr {

// Returns the path to which a rank writes its recording, until all are merged.
std::string rank_recording(const std::string& path, unsigned rank);

// File for the merged recording. The root creates it empty before the run, so that an error is found early. It is removed if
// write() is not called.
class RankRecordings {
 public:
  // Throws std::runtime_error "FILE: why", also if the file exists.
  explicit RankRecordings(const std::string& path);
  ~RankRecordings();
  RankRecordings(const RankRecordings&) = delete;
  RankRecordings& operator=(const RankRecordings&) = delete;

  struct Plan {  // properties of all recordings
    TraceHeader header;
    LiveState initial;
    // True if an id means another object or handle on each rank. The root directory has the same id everywhere.
    bool ids_differ = false;
    std::vector<int64_t> began;  // start of each rank, ns after the first of them
  };
  // Merges the recordings. `files`: descriptors of all ranks' recordings, by rank, at offset 0; closed by this call. Throws
  // std::runtime_error "FILE: why".
  void write(std::vector<int> files, Plan plan);

 private:
  const std::string path_;
  int fd_;
};

// Collective. Returns on the root copies of all ranks' recordings, which the caller has to close, and on the other ranks none.
// `own`: path of this rank's recording.
std::vector<int> collect_recordings(Cluster& cluster, const std::string& own);

}  // namespace fsr
