// SPDX-License-Identifier: Apache-2.0
// Counts the times of operations over the time of a run, to be drawn as a heat map. The run is divided into at most kStretches
// stretches of one length. Each has the number of times in each bucket, four to a decade. So the memory does not depend on the
// length of the run.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "measure/tally.hpp"
#include "util/heat_map.hpp"

namespace fsr {

class Heat {
 public:
  static constexpr unsigned kStretches = 150;
  static constexpr unsigned kBuckets = HeatMap::kLastBucket + 1;  // the last one has everything above 10^9.75 ns

  struct Stretch {
    int64_t from = 0, to = 0;  // ns since the start of the run
    HeatMap::Counts service{}, response{}, recorded{};
  };

  // Adds the times of an interval, after all earlier ones. It belongs to the stretch in which it begins.
  void add(int64_t from, int64_t to, const KindCounters& counts);
  // Calls `visit(stretch, what, bucket, count)` with each number that is not 0. `what`: "service", "response", "recorded".
  template <class Visit>
  void each(Visit visit) const {
    for (const Stretch& stretch : stretches_)
      for (const auto& [what, counts] :
           {std::pair("service", &stretch.service), {"response", &stretch.response}, {"recorded", &stretch.recorded}})
        for (unsigned bucket = 0; bucket < kBuckets; ++bucket)
          if ((*counts)[bucket]) visit(stretch, what, bucket, (*counts)[bucket]);
  }
  const std::vector<Stretch>& stretches() const { return stretches_; }

 private:
  void halve();

  int64_t length_ = 0;  // of a stretch, ns; 0: there is none yet
  std::vector<Stretch> stretches_;
};

}  // namespace fsr
